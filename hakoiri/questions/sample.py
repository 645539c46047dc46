"""Random configurations of a run, each as likely as any other: scrambles for people."""

import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.questions.question import Means, Question, Route, parameter, show_boards
from hakoiri.render.tables import stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.keys.layout import Key


@dataclass(frozen=True)
class RandomSample(Question):
    """Draw random configurations, each as likely as any other.

    Draws are independent, so one may come twice. A census has no start, and all its configurations in layer 0.
    """

    example = "sample last --depth 20..30 -n 5"
    documented = "run seed configurations keys depths"
    route = Route(
        "/sample", "sample", "Random configurations, each as likely as any other.",
        "`depth` is a layer, such as `25`, or a range of layers, such as `20..30`; the same `seed` draws the same.",
        {
            "depth": {"max_length": 100},
            "count": {"alias": "n", "default": 10, "ge": 1, "le": 1000},
            "seed": {"default": 0, "ge": 0, "le": MOST_SEED},
        },
        begins=False,
    )  # fmt: skip

    depth: str | None = parameter("--depth", "A..B", "Draw from these layers, such as 25 or 20..30.", "all")
    count: int = parameter("-n", "N", "Number of configurations.", default=10, min=1)
    seed: int | None = parameter("--seed", "S", "Draw again what this seed drew.", "a random one", min=0, max=MOST_SEED)

    def checked(self) -> Question:
        return self if self.seed is not None else replace(self, seed=secrets.randbelow(MOST_SEED))

    def ask(self, run: "Run", means: Means) -> "list[tuple[int, Key]]":
        layers = None
        if self.depth is not None:
            match = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9}))?", self.depth)
            if match is None or int(match[1]) > int(match[2] or match[1]):
                raise PuzzleError(f"depth {self.depth} is malformed; expected layers such as 25 or 20..30")
            layers = int(match[1]), int(match[2] or match[1])
        return run.sample(self.count, layers, self.seed or 0)

    def row(self, run: "Run", found: "list[tuple[int, Key]]") -> dict[str, Any]:
        return {
            "seed": self.seed,
            "configurations": [run.puzzle.render(key) for _, key in found],
            "keys": [run.puzzle.layout.text(key) for _, key in found],
            "depths": None if run.is_census else [depth for depth, _ in found],
        }

    def view(self, run: "Run", found: "list[tuple[int, Key]]") -> None:
        titles = [
            str(number) if run.is_census else f"{number} depth {depth}" for number, (depth, _) in enumerate(found, 1)
        ]
        show_boards(run, run.puzzle.keys([key for _, key in found]), titles)
        stdout().print(f"the same again: --seed {self.seed}", style="dim")
