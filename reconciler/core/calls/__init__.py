"""One call among many: when it may go, whether it is tried again."""
