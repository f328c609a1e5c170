"""What the `callbacks` commands do."""
