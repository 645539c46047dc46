"""Nakuron, and good plays of any puzzle whose moves score."""
