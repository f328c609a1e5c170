"""Manifests that this program writes: their text, and what the manifest language refuses of it."""
