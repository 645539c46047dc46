"""Boards of any scored puzzle moved on for a beam, and games: what is asked and answered."""
