"""YAML and JSON files as trees with positions, strictly read. No fields of ours, no rules about them."""
