"""Commands of runs: they write, continue, give up or release, and tell who wrote."""
