"""Results out: pure renderers of one value each."""
