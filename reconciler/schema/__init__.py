"""The shipped schemas, the parts of them that are generated, and checking a tree against one."""
