"""Studies of sizes: the same puzzle for one size after another, its layers, depth, diameter, radius and pairs.

Each member is a run by layers in a folder of the study's own, driven as any other: a stop or a kill costs what it costs
there. What is found of it becomes a row of the study, and the folder goes.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hakoiri.coordinator.families.member import measure_member
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.rows import RowsJob
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.puzzles.capabilities import Sized, SizedMember
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError, Step
from hakoiri.puzzles.registry import PuzzleSpec, names_of, puzzle_class
from hakoiri.storage.errors import DamagedError, StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import require_held
from hakoiri.storage.ledger.manifest import Figures, Progress, State
from hakoiri.storage.results.rows import ResultRows

SIZE = "size"
#: A size has fewer members.
_ROOM = 64
#: Members up to so many configurations are derived again without ``--full``.
_SAMPLE = 50_000
_FOLDER = "members"


@dataclass(frozen=True)
class SizesFigures(Figures):
    """How many members are done of those that the limits ask for, and their configurations together."""

    members: int = 0
    members_done: int = 0
    configurations: int = 0


@dataclass(frozen=True)
class SizeRow:
    """What is known of one member; ``None`` is open. `layers` are the sizes of its layers from the usual start."""

    size: int
    series: str
    place: int
    options: dict[str, str]
    configurations: int
    layers: list[int]
    diameter: int | None
    radius: int | None
    pairs: int | None
    digest: str

    @property
    def depth(self) -> int:
        return len(self.layers) - 1


def sized_class(spec: PuzzleSpec) -> type[Sized]:
    """The class of a puzzle that has sizes; `PuzzleError` for another, or for options that a study of sizes sets."""
    kind = puzzle_class(spec.name, spec.digest)
    if not issubclass(kind, Sized):
        known = names_of(lambda kind: issubclass(kind, Sized))
        raise PuzzleError(f"there is no study of the sizes of {spec.name}; there are studies of {known}")
    if given := [option for option in kind.size_options if option in spec.options]:
        raise PuzzleError(f"the sizes of a study say what {given[0]} is", Step("leave out", "option"))
    return kind


def read_rows(ledger: Ledger) -> dict[int, SizeRow]:
    """The members that are done, by their numbers."""
    return ResultRows(ledger, SIZE).all(lambda _, row: SizeRow(**row))


class StudySizes(RowsJob):
    """The members of some sizes, one after another."""

    figures = SizesFigures
    row_noun = "sizes"
    remedy = "measuring the member again"
    puzzle: Sized

    @classmethod
    def parse_request(cls, spec: PuzzleSpec, *, sizes: Sequence[int] = ()) -> Request:  # type: ignore[override]
        kind = sized_class(spec)
        if not any(kind.members(size) for size in sizes):
            raise PuzzleError(f"which sizes? {kind.name} has none of these")
        return Request(spec, {}, {"sizes": sorted({*sizes})})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        sized_class(spec)
        return spec.build()

    @classmethod
    def identity(cls, puzzle: Puzzle) -> dict[str, str]:
        """Not the sizes: one study has several."""
        sizes = puzzle.size_options if isinstance(puzzle, Sized) else ()
        return {name: value for name, value in puzzle.parameters.items() if name not in sizes}

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Of a study that waits in the queue both the sizes that it waits for and the new ones."""
        return {"sizes": sorted({*limits["sizes"], *waiting.get("sizes", ())})}

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """All of them, which the runs of the members work with, too."""
        self._resources = resources
        return resources

    def is_done(self) -> bool:
        return not self._missing(ResultRows(self.store, SIZE).numbers())

    def begin(self) -> None:
        self._rows = read_rows(self.store)

    def make_rows(self) -> None:
        for number in self._missing(self._rows):
            self._rows[number] = self._measure(number)
            self.keep(SIZE, number, asdict(self._rows[number]))
            found = self.found()
            self.tell(Progress(found.members_done, found.members, "members"), at_once=True)

    def found(self) -> SizesFigures:
        return self._counted(self._rows)

    @cached_property
    def _members(self) -> dict[int, tuple[int, SizedMember]]:
        """Every member that the limits ask for, by its number, with its size."""
        return {
            size * _ROOM + place: (size, member)
            for size in self.limits["sizes"] for place, member in enumerate(self.puzzle.members(size))
        }  # fmt: skip

    def asked(self) -> list[SizeRow]:
        """What is known of the members that the limits ask for, in order."""
        return [row for number, row in sorted(read_rows(self.store).items()) if number in self._members]

    def _missing(self, done: Collection[int]) -> list[int]:
        return [number for number in self._members if number not in done]

    def _counted(self, rows: Mapping[int, SizeRow]) -> SizesFigures:
        done = [row.configurations for number, row in rows.items() if number in self._members]
        return SizesFigures(len(self._members), len(done), sum(done))

    def _spec(self, member: SizedMember) -> PuzzleSpec:
        spec = PuzzleSpec.from_dict(self.store.manifest.puzzle)
        return replace(spec, options={**spec.options, **member.options})

    def _measure(self, number: int) -> SizeRow:
        """One member, by a run that is gone on with where it is there already."""
        (size, member), session = self._members[number], self.session
        folder = self.store.directory / _FOLDER / str(number)
        try:
            found = measure_member(folder, self._spec(member), self._resources, session.control, session.observer)
        except StorageError as error:
            # Of the study, which alone the user knows.
            error.steps = (Step("repair" if isinstance(error, DamagedError) else "resume", self.store.directory.name),)
            raise
        # It is another's, if the run is.
        require_held(self.store.directory)
        shutil.rmtree(folder.parent)
        return SizeRow(size, member.series, member.place, member.options, sum(found[0]), *found)

    def repair(self, session: Session) -> None:
        super().repair(session)
        shutil.rmtree(self.store.directory / _FOLDER, ignore_errors=True)

    def verify(self, check: Check) -> None:
        """Members are measured again, without `full` those of up to 50,000 configurations."""
        rows, members = read_rows(self.store), self._members
        again = [number for number, row in sorted(rows.items()) if check.full or row.configurations <= _SAMPLE]
        check.report.sampled = len(again) < len(rows)
        for number in check.each(again, "members measured again"):
            self._derive(rows[number], check)
        if self.store.state.status == "complete" and not members.keys() <= rows.keys():
            check.report.fault(f"{len(members):,} members there are, {len(rows):,} are measured")

    def _derive(self, row: SizeRow, check: Check) -> None:
        spec = self._spec(SizedMember(row.options, row.place, row.series))
        with tempfile.TemporaryDirectory(prefix="hakoiri-member-") as data:
            resources = Resources(memory=check.context.budget.memory)
            found = measure_member(Path(data), spec, resources, check.control, check.observer)
        check.report.count("members")
        check.report.count("configurations", row.configurations)
        said = (row.layers, row.diameter, row.radius, row.pairs, row.digest)
        # What is open in the run may be found today.
        if any(value not in (None, now) for value, now in zip(said, found, strict=True)):
            check.report.fault(f"{row.options} has {found}, the run says {said}")

    def summary(self, budget: Budget) -> dict[str, Any]:
        # The figures kept may be of other sizes: to ask for fewer of what is known does no work.
        known = self._counted(read_rows(self.store)).as_dict()
        return known | {"rows": [_row(row) | {"layers": row.layers, "digest": row.digest} for row in self.asked()]}

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return {"members": summary["members"], "configurations": summary["configurations"]}

    def tables(self) -> list[Table]:
        rows = [_row(row) for row in self.asked()]
        return [Table("sizes", rows)] if rows else []

    def rows(self) -> Iterator[dict[str, Any]]:
        return (_row(row) for row in self.asked())


def _row(row: SizeRow) -> dict[str, Any]:
    """A member in a table; ``None`` is open."""
    names = ("size", "configurations", "depth", "diameter", "radius", "pairs")
    options = " ".join(f"{name}={value}" for name, value in row.options.items())
    return {"member": options} | {name: getattr(row, name) for name in names}


def b_files(rows: Iterable[SizeRow]) -> dict[str, str]:
    """The tables in the form of OEIS b-files, a line ``n a(n)`` for each member, by the names of the files.

    Members of one series follow each other by their place. ``layers`` are the rows of an irregular triangle, read one
    after the other, numbered from 1. What is open is left out.
    """
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (row.series, row.place)):
        before = f"{row.series.replace(' ', '-')}-" if row.series else ""
        for name in ("configurations", "depth", "diameter", "radius", "pairs"):
            if (value := getattr(row, name)) is not None:
                found.setdefault(f"b-{before}{name}.txt", []).append(f"{row.place} {value}")
        lines = found.setdefault(f"b-{before}layers.txt", [])
        lines += [f"{number} {size}" for number, size in enumerate(row.layers, len(lines) + 1)]
    return {name: "\n".join(lines) + "\n" for name, lines in found.items()}
