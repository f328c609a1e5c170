"""Requests and answers on their way: what leaves, what comes back, how fast, through which connections."""
