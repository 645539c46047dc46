"""Deals solved, counted and hunted for in memory."""
