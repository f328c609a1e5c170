"""Kinds: what can be said of one, the table of them, and the kinds of a project's own."""
