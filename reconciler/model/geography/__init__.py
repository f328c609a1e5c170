"""Countries and time zones, from public data that a package brings."""
