"""A plan and its changes, and the explanation of one address."""
