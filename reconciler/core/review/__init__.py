"""A plan is judged: is it safe, is it stale, what is drift, and which names are shown."""
