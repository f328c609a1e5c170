"""What the commands do: one module for those that share it, imported when one of them is invoked."""
