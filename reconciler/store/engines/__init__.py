"""The database below the store: connections, what only one of them needs, its schema and migrations."""
