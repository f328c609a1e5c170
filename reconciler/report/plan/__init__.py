"""A plan, its fields, its drift, and what explains or lists it."""
