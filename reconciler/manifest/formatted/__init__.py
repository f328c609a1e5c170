"""Manifests that people wrote, in the canonical form: the same meaning, every comment kept."""
