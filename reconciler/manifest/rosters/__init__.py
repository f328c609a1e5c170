"""Rosters: files of many forms as one table, and its rows as contacts."""
