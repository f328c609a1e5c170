"""What every command prints with `--format json`, as types, and the schemas that follow from them."""
