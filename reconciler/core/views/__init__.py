"""Views of a plan: every entity and whose it is, and everything about a few."""
