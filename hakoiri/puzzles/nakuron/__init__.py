"""Nakuron: coloured balls tilted out of a box."""
