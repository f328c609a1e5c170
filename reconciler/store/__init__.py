"""The only state: what we own, who holds the lock, what ran."""
