"""The puzzles that the conformance suite tries: options, starts and goals of each, and what is pinned of them."""

import ast
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hakoiri.puzzles.conformance.pool import Case
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file

_EXAMPLES = Path(__file__).parents[3] / "examples"


class Sample(NamedTuple):
    """A puzzle of the registry or of `examples`, as named on the command line; CI leaves a `slow` one out."""

    puzzle: str
    options: str = ""
    start: str | None = None
    goal: str | None = None
    slow: bool = False

    @property
    def name(self) -> str:
        """The name of its test."""
        return " ".join(part for part in (self.puzzle, self.options, (self.start or "")[:24]) if part)

    def case(self, merge_mirrors: bool = False) -> Case:
        """The puzzle to be tried."""
        puzzle = str(_EXAMPLES / self.puzzle) if ".py:" in self.puzzle else self.puzzle
        return Case(
            build=lambda options, start: with_own_file(PuzzleSpec(puzzle, options, start, merge_mirrors)).build(),
            options=dict(pair.split("=", 1) for pair in self.options.split()),
            start=self.start,
            goal=self.goal,
            # Its words do not say which of several holes an ace goes to.
            vague=self.puzzle == "superpuzz",
        )


#: Boards with blanks at the top, whose moves change the upper words of a key, are among them on purpose.
SAMPLES = tuple(Sample(**row) for row in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")))


def examples() -> list[str]:
    """Every puzzle of the examples, as one names it."""
    found = []
    for file in sorted(_EXAMPLES.glob("*.py")):
        classes = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef))
        found += [f"{file.name}:{node.name}" for node in classes if "Puzzle" in map(ast.unparse, node.bases)]
    return found


def samples_of(puzzles: Iterable[str]) -> list[Sample]:
    """The samples of some puzzles: of one that has none its defaults."""
    return [each for name in puzzles for each in [one for one in SAMPLES if one.puzzle == name] or [Sample(name)]]
