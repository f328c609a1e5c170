"""The addresses below /_sandbox/, which the real service does not have."""
