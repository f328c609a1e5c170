"""Settings: read, checked, and where each came from."""
