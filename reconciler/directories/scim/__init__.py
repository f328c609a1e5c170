"""SCIM 2.0 services: the users that their pages show, whole or not at all."""
