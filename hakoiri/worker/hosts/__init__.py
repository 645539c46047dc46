"""Hosts that keep ranges of runs: their parts on disk, requests of a coordinator, messages between hosts."""
