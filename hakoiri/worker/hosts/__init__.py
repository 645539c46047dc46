"""Hosts that keep ranges of runs: their parts on disk, what a coordinator asks of them, what they send each other."""
