"""Deals of solitaires and other puzzles: solved, studied by the thousand, hunted for hard ones."""
