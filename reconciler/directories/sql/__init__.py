"""Databases: what one statement answers that can only read."""
