"""Our end of a callback: what the service tells us about replies, kept before it is acknowledged."""
