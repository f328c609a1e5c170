"""What the `messages` commands do."""
