"""What exists at the service, read in few calls (reading.py)."""
