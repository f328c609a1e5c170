"""The sandbox's own description in OpenAPI."""
