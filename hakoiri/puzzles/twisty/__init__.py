"""Twisty puzzles, the 2x2x2 cube and the Pyraminx: definitions with a face."""
