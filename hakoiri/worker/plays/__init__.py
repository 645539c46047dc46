"""Moves of boards of any scored puzzle for a beam, and games: requests and results."""
