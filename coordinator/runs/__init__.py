"""Runs: made, found, driven, served, verified, repaired."""

__all__ = ["catalogue", "certificate", "create", "drive", "kinds", "service", "summary", "verify"]
