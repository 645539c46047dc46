"""Studies of cosets: a group too large to list, coset by coset; workers fill one each and exchange nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import Hint, require_within
from hakoiri.guests.cosets import filling
from hakoiri.guests.cosets import kind as kinds
from hakoiri.guests.cosets.filling import FAR, CosetFigures, CosetRequest
from hakoiri.guests.study import Study, first_rows, fit_threads, require_version
from hakoiri.keys.splitmix import first_words
from hakoiri.parameters import given
from hakoiri.puzzles.contract import Numbered
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress

#: Increase it when a study finds other figures than before.
_VERSION = 1
#: Cosets that are filled again without ``--full``, and that are shown.
_SAMPLE, _SHOWN = 2, 8
#: Bytes besides the positions: the ball in two forms, the moves of cosets, blocks of successors.
_BYTES = 16 * filling.MOST_IN_BALL + (300 << 20)


@dataclass(frozen=True)
class CosetsPlan(kinds.CosetsKind):
    """The parameters, with the fitted size."""

    size: int = given("", 0, min=1)
    cosets_version: int = _VERSION

    def check(self, puzzle: Numbered) -> None:
        require_version(self.cosets_version, "studies of cosets", _VERSION)
        require_within("depth", self.to_depth, 0, filling.MOST_DEPTH)
        filling.coset_size(puzzle, self.size)


@dataclass(frozen=True)
class CosetsFigures(Figures):
    """The number of cosets within the limits, of those done, and of their positions counted."""

    cosets: int = 0
    cosets_done: int = 0
    positions: int = 0


class StudyCosets(Study[CosetsPlan, CosetFigures]):
    """Fills cosets of a group, that of the start and others by chance."""

    plan_class, row_class, figures, table = CosetsPlan, CosetFigures, CosetsFigures, "coset"
    row_noun, remedy = "cosets", "filling the coset again"
    parameters = kinds.CosetsKind
    facts = (
        "cosets done: {cosets_done:,} of {whole:,}", "positions of each: size", "positions counted: positions",
        "deeper", "God's number: god", "God's number at least: at_least", "God's number at most: at_most",
        "hours for all, estimated: hours",
    )  # fmt: skip
    puzzle: Numbered

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.CosetsKind) -> Request:
        cls.puzzle_kind(spec)
        puzzle: Any = spec.build()
        size = filling.coset_size(puzzle, asked.size)
        whole = puzzle.size // size
        wanted = whole if asked.cosets is None else asked.cosets
        require_within("cosets", wanted, 1, filling.MOST_COSETS)
        plan = CosetsPlan(min(wanted, whole), asked.to_depth, size, asked.seed)
        plan.check(puzzle)
        return super().request(spec, plan)

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        return fit_threads(resources, self.plan.size + _BYTES, "", observer, Hint("raise", "memory"))

    @property
    def whole(self) -> int:
        """The number of all cosets."""
        return self.puzzle.size // self.plan.size

    @cached_property
    def _chosen(self) -> list[int]:
        """The cosets within the limits: that of the start, which proves the most, and others by chance."""
        words = first_words(self.whole) * np.uint64(2 * self.plan.seed + 1)
        words[self.puzzle.start // self.plan.size] = 0
        return [int(number) for number in np.argsort(words)[: self.limits["cosets"]]]

    def is_done(self) -> bool:
        return self.stored().keys() >= {*self._chosen}

    def make_rows(self) -> None:
        asked = ((number, self._asked(number)) for number in self._chosen if number not in self.known)
        for number, found in self.answers("coset", CosetFigures, asked):
            self.keep(number, found)
            # A large one may have taken minutes.
            self.tell(Progress(len(self.known), len(self._chosen), "cosets"), at_once=self.plan.size > 1 << 20)

    def _asked(self, number: int) -> CosetRequest:
        return CosetRequest(number, self.plan.size, self.plan.to_depth)

    def tally(self, rows: Mapping[int, CosetFigures]) -> CosetsFigures:
        return CosetsFigures(len(self._chosen), len(rows), sum(sum(row.layers) for row in rows.values()))

    def verify(self, check: Check) -> None:
        """Fill cosets again, without `full` a sample."""
        rows = self.stored()
        for number in check.some(sorted(rows), _SAMPLE, "cosets filled again"):
            check.report.count("cosets")
            check.report.count("configurations", sum(rows[number].layers))
            if (found := filling.fill(self.puzzle, self._asked(number))) != rows[number]:
                check.report.fault(f"coset {number} has {found}, but {rows[number]} in the run")
        self.check_rows(check, len(rows.keys() & {*self._chosen}), len(self._chosen), "cosets", "filled")
        self.check_sums(check, rows)

    def summary(self, budget: Budget) -> dict[str, Any]:
        rows = self.stored()
        # As far as all cosets done are counted.
        layers = [*map(sum, zip_longest(*(row.layers for row in rows.values()), fillvalue=0))]
        layers = layers[: min((len(row.layers) for row in rows.values() if row.deeper), default=None)]
        least, most = max((row.deepest for row in rows.values()), default=None), self._at_most(rows)
        found: dict[str, Any] = {"god": least} if least == most else {"god": None, "at_least": least, "at_most": most}
        found |= {"whole": self.whole, "layers": layers, "deeper": sum(row.deeper for row in rows.values())}
        if 1 < len(rows) < self.whole and (first := rows.get(self._chosen[0])):
            # The first is not one by chance.
            share, own = (self.whole - 1) / (len(rows) - 1), [*first.layers, *[0] * len(layers)]
            found["estimated"] = [one + round((count - one) * share) for count, one in zip(layers, own, strict=False)]
            found["hours"] = round(self.store.state.seconds * self.whole / len(rows) / 3600, 2)
        return found | {"rows": [*self.rows()]}

    def _at_most(self, rows: Mapping[int, CosetFigures]) -> int | None:
        """Return the bound that the cosets done prove: another is as many moves deeper as it is away from one."""
        most = np.full(self.whole, FAR)
        for number, row in rows.items():
            most[number] = FAR if row.most is None else row.most
        if most.min() < FAR:
            filling.settle(filling.cosets_after(self.puzzle, self.plan.size), most, True, FAR)
        return int(most.max()) if most.max() < FAR else None

    def tables(self) -> list[Table]:
        found = self.summary(Budget(0))
        columns = {"positions": found["layers"], "estimated_for_all": found.get("estimated", [])}
        layers = [
            {"depth": depth} | {name: counts[depth] for name, counts in columns.items() if counts}
            for depth in range(len(found["layers"]))
        ]
        return [Table("layers", layers)] * bool(layers) + first_rows(
            "cosets", found["rows"], _SHOWN, "export writes all"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        for number, row in sorted(self.stored().items()):
            known = {"coset": number, "deeper": row.deeper, "deepest": row.deepest, "at_most": row.most}
            yield known | {"layers": " ".join(map(str, row.layers))}
