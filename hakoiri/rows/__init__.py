"""Runs and puzzles as plain values: the JSON of the command line and of the web, made only here."""
