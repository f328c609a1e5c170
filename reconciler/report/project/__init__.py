"""A project: its start, its export, its doctor, its mistakes and their codes."""
