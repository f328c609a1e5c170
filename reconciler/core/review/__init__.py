"""A plan is judged: is it safe, is it stale, what is drift, whom does it mean."""
