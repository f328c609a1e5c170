"""Frozen values that every other part uses. No decisions, no clock, no disk, no network."""
