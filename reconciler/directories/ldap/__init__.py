"""LDAP directories: what a search finds, page after page, whole or not at all."""
