"""Searches from each start of a list."""
