"""Runs: made, found, driven, served, verified, repaired."""

__all__ = ["catalogue", "certificate", "create", "drive", "repair", "service", "summary", "verify"]
