"""Hosts that keep ranges of a run: requests to them, ranges that move, and layers made by them."""
