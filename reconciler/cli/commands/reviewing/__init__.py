"""Commands that look: at a plan, at drift, at entities. Nothing is written at the service."""
