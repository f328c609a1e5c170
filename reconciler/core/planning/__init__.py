"""A plan is made: scopes, parts and their sum; what begins and ceases to be ours."""
