"""``python -m hakoiri``: the command line."""

from hakoiri.cli.app import main

main()
