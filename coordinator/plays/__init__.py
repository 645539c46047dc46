"""Good plays of large boards of Nakuron."""
