"""The command line ``hakoiri``: thin over the Python interface. Only here does the program exit."""

from hakoiri.cli.app import app, main

__all__ = ["app", "main"]
