"""Boards of Nakuron tilted, and games of it played."""
