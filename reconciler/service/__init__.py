"""The only HTTP client: everything the service has, typed."""
