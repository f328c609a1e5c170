"""The shipped schemas, what follows from the kinds in them, and whether a tree fits one."""
