"""The text of a manifest file as a tree with positions: YAML and JSON, strictly read. No fields, no rules."""
