"""Runs and their life, and the kinds of work: layers, graphs, trees, solitaires, Nakuron."""
