"""Our end of a callback: what the service sends us about replies, kept before it is acknowledged."""
