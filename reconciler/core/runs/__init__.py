"""Runs: what one left behind, how one is undone, which goes first, and the chain of the history."""
