"""Text: its one form, names made of it, the nearest name to a wrong one."""
