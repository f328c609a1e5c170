"""The work of the commands that look."""
