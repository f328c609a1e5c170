"""Who the contacts of a message are at the service (reaching.py)."""
