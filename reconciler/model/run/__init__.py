"""A run: how each change ended, the journal, the history, who runs now."""
