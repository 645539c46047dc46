"""The command line of campaigns that make a page."""

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path


class Options(argparse.ArgumentParser):
    """The options of the atlas and the papers. A campaign works on some of its `known` pieces, or on all."""

    def __init__(self, campaign: str, said: str | None, piece: str, known: Collection[str]) -> None:
        super().__init__(campaign, description=said, formatter_class=argparse.RawTextHelpFormatter)
        self._piece, self._known = piece, known
        self.add_argument(f"{piece}s", nargs="*", metavar=piece.upper(), help=f"one of {', '.join(known)}; default all")
        self.add_argument(
            "--data", type=Path, default=Path(campaign), metavar="DIR", help="directory of books and runs"
        )
        self.add_argument("--short", action="store_true", help="the short commands alone, as in CI")
        self.add_argument("--until", type=float, default=float("inf"), metavar="MINUTES", help="stop after that time")
        self.add_argument("--publish", action="store_true", help="run nothing, write the page of what is done")
        self.add_argument("--json", action="store_true", help="print one object instead of tables")

    def parse(self, given: Sequence[str] | None) -> argparse.Namespace:
        """Parse the command line; refuse unknown pieces."""
        asked = self.parse_args(given)
        if strange := set(getattr(asked, f"{self._piece}s")) - set(self._known):
            self.error(f"there is no {self._piece} {', '.join(sorted(strange))}")
        return asked
