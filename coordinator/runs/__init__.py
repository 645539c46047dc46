"""Runs: made, found, driven, served, verified, repaired."""

__all__ = ["catalogue", "create", "drive", "kinds", "service", "summary", "verify"]
