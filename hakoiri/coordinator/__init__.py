"""Runs and their life, and the kinds of work: layers, graphs, trees, goals, deals, families, plays."""
