"""Runs: how one ended, which did not, the history, and the locks."""
