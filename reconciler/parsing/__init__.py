"""YAML and JSON files as trees with positions, strictly read.

They know which fields are secret (display.py), so that no message shows one, and nothing else of manifests.
"""
