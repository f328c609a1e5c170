"""Messages and callbacks: recipients, message files, searches, the receiver and their reports."""
