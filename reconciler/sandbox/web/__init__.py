"""What stands between a socket and an endpoint: the server, the gateway, credentials, media types."""
