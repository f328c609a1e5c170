"""The other side: the service on loopback, from its specification; imports nothing else of reconciler."""
