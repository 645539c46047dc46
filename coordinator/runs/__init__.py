"""Runs: made, found, driven, served, verified, repaired."""
