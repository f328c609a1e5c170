"""YAML and JSON files as trees with positions, strictly read.

Of our fields they know only which hold secrets (display.py), so that no message shows one.
"""
