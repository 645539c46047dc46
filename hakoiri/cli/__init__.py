"""The command line ``hakoiri``: thin over the Python interface. Only this package exits the program."""

from hakoiri.cli.app import app, main

__all__ = ["app", "main"]
