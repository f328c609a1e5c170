"""YAML and JSON files as trees with positions, strictly read.

Of our fields they know only which hold secrets (paths.py), so that no message shows one. No rules about any.
"""
