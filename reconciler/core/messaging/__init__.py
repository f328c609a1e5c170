"""Messages and callbacks: who is meant, and what an edit makes."""
