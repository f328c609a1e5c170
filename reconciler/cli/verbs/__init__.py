"""What the commands do: in the folders of cli/commands/, imported when a command is invoked."""
