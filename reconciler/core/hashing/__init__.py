"""Keyed hashes and stretched secrets: what stands for somebody, or for a secret."""
