"""Hands: options in, text out, exit codes."""
