"""What can go wrong, by short codes that stay: the table, and which code something has."""
