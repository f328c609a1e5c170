"""What the service remembers: the values, where they stand in memory, and the file they survive in."""
