"""Directories in: what a database, an LDAP server or a SCIM service answers, whole or not at all."""
