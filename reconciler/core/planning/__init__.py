"""A plan is made: scopes and parts, what is deleted, moved or left alone, what is recorded."""
