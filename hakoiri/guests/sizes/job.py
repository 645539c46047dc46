"""Studies of sizes: the same puzzle for one size after another, its layers, depth, diameter, radius.

Each member is a run by layers in a folder of the study, driven like any other, so interruptions cost as little. Its
results become a row of the study, and the folder is deleted.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from hakoiri.coordinator.errors import StopRun, UnanswerableError
from hakoiri.coordinator.graphs.distances import DistancePolicy
from hakoiri.coordinator.runs.create import make_planned, plan_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, Session
from hakoiri.errors import DamagedError, Hint, OverBudgetError, PuzzleError, StorageError
from hakoiri.guests.sizes import kind as kinds
from hakoiri.guests.sizes.sized import SizedMember, members_of
from hakoiri.guests.study import Study
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.files import Given
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import require_held
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.names import DATA_FILE, MEMBERS_FOLDER
from hakoiri.storage.results import ResultRows

_RUN = "member"
#: Sizes of layers, diameter, radius, pairs, digest.
Found = tuple[list[int], int | None, int | None, int | None, str]


def measure_member(data: Path, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer) -> Found:
    """Return the figures of a member's run by layers, resumed if it exists in `data`; `StopRun` by `control`."""
    directory = data / _RUN
    if not (directory / DATA_FILE).exists():
        make_planned(data, plan_run(data, spec, "explore", {}, resources, _RUN), False, None)
    _await_redis(resources, control, observer)
    state = drive(directory, resources, control, observer)
    if state.status != "complete":
        raise StopRun(state.status, state.reason)
    _await_redis(resources, control, observer)
    with RunStore(directory) as store, open_context(spec.build(), spec, resources, control, observer) as context:
        store.are_keys = context.puzzle.are_keys
        layers = [record.size for record in store.layer_records()]
        return layers, *_distances(context, store), store.state.digest


def _await_redis(resources: Resources, control: Control, observer: Observer) -> None:
    """Wait for Redis: each member makes connections of its own, and Redis may be unreachable at that time."""
    if resources.redis is not None:
        # Imported here, because redis takes a tenth of a second to import.
        from hakoiri.coordinator.executors.worker_pool import await_redis

        await_redis(resources.redis, resources.tuning.patience, control, observer).close()


def _distances(context: ComputeContext, store: RunStore) -> tuple[int | None, int | None, int | None]:
    """Return diameter, radius and pairs, by symmetry or else by searches; ``None`` if they exceed the memory."""
    try:
        found = DistancePolicy(store, context.puzzle, context.budget).measure(context, 0).record
    except (OverBudgetError, UnanswerableError) as error:
        context.observer.note(f"{error}; the diameter remains unknown", *error.hints)
        return None, None, None
    return found.diameter, found.radius, found.pair_count


SIZE = "size"
#: Greater than the number of members of any size.
_ROOM = 64
#: Members of up to this many configurations are derived again without ``--full``.
_SAMPLE = 50_000


@dataclass(frozen=True)
class SizesFigures(Figures):
    """The number of members within the limits, the number of measured ones, and their configurations together."""

    members: int = 0
    members_done: int = 0
    configurations: int = 0


@dataclass(frozen=True)
class SizeRow:
    """The results of one member; ``None`` is unknown. `layers` are the sizes of its layers from the usual start."""

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


class StudySizes(Study[None, SizeRow]):
    """Measures the members of given sizes, one after another."""

    row_class, figures, table = SizeRow, SizesFigures, SIZE
    row_noun = "sizes"
    remedy = "measuring the member again"
    facts = ("members", "configurations")
    parameters = kinds.SizesKind
    own_options = staticmethod(lambda puzzle: puzzle.size_options)

    @classmethod
    def puzzle_kind(cls, spec: PuzzleSpec) -> type[Any]:
        """Return the class of the puzzle; `PuzzleError` also for options that the study sets."""
        kind = super().puzzle_kind(spec)
        if given := [option for option in kind.size_options if option in spec.options]:
            raise PuzzleError(f"the sizes of the study already set {given[0]}", Hint("leave out", "option"))
        return kind

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.SizesKind) -> Request:
        kind = cls.puzzle_kind(spec)
        if not any(members_of(kind, size) for size in asked.sizes):
            raise PuzzleError(f"{kind.name} has none of the given sizes")
        return super().request(spec, kinds.SizesKind(sorted({*asked.sizes})))

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Return all resources, which the runs of the members use, too."""
        self._resources = resources
        return resources

    def is_done(self) -> bool:
        return self._members.keys() <= {*ResultRows(self.store, SIZE).numbers()}

    def make_rows(self) -> None:
        for number in (number for number in self._members if number not in self.known):
            self.keep(number, self._measure(number))
            found = self.tally(self.known)
            self.tell(Progress(found.members_done, found.members, "members"), at_once=True)

    @cached_property
    def _members(self) -> dict[int, tuple[int, SizedMember]]:
        """Every member within the limits, by number, with its size."""
        return {
            size * _ROOM + place: (size, member)
            for size in self.limits["sizes"] for place, member in enumerate(members_of(type(self.puzzle), size))
        }  # fmt: skip

    def asked(self) -> list[SizeRow]:
        """Return the results of the members within the limits, in order."""
        return [row for number, row in sorted(self.stored().items()) if number in self._members]

    def tally(self, rows: Mapping[int, SizeRow]) -> SizesFigures:
        done = [row.configurations for number, row in rows.items() if number in self._members]
        return SizesFigures(len(self._members), len(done), sum(done))

    def _spec(self, member: SizedMember) -> PuzzleSpec:
        spec = PuzzleSpec.from_dict(self.store.manifest.puzzle)
        return replace(spec, options={**spec.options, **member.options})

    def _measure(self, number: int) -> SizeRow:
        """Measure one member by a run, which is resumed if it exists."""
        (size, member), session = self._members[number], self.session
        folder, given = self.store.directory / MEMBERS_FOLDER / str(number), Given(self.store.directory)
        given.make_folder(f"{MEMBERS_FOLDER}/{number}")
        try:
            found = measure_member(folder, self._spec(member), self._resources, session.control, session.observer)
        except StorageError as error:
            # The hint names the study, because the user does not know the member's run.
            error.hints = (Hint("repair" if isinstance(error, DamagedError) else "resume", self.store.directory.name),)
            raise
        # If another process has taken over the run, the folder is in use by that process.
        require_held(self.store.directory)
        given.remove_folder(MEMBERS_FOLDER)
        return SizeRow(size, member.series, member.place, member.options, sum(found[0]), *found)

    def repair(self, session: Session) -> None:
        super().repair(session)
        Given(self.store.directory).remove_folder(MEMBERS_FOLDER)

    def verify(self, check: Check) -> None:
        """Measure members again, without `full` only those of up to 50,000 configurations."""
        rows = self.stored()
        again = [number for number, row in sorted(rows.items()) if check.full or row.configurations <= _SAMPLE]
        check.report.sampled = len(again) < len(rows)
        for number in check.each(again, "members measured again"):
            self._derive(rows[number], check)
        for number, row in rows.items():
            member = row.size, SizedMember(row.options, row.place, row.series)
            if self._members.get(number, member) != member or row.configurations != sum(row.layers):
                check.report.fault(f"{row.options} has another size, place or number of configurations in the run")
        self.check_rows(check, len(rows.keys() & self._members.keys()), len(self._members), "members", "measured")

    def _derive(self, row: SizeRow, check: Check) -> None:
        spec = self._spec(SizedMember(row.options, row.place, row.series))
        with tempfile.TemporaryDirectory(prefix="hakoiri-member-") as data:
            resources = Resources(memory=check.context.budget.memory)
            found = measure_member(Path(data), spec, resources, check.control, check.observer)
        check.report.count("members")
        check.report.count("configurations", row.configurations)
        said = (row.layers, row.diameter, row.radius, row.pairs, row.digest)
        # A value unknown in the run may be found now.
        if any(value not in (None, now) for value, now in zip(said, found, strict=True)):
            check.report.fault(f"{row.options} has {found}, but {said} in the run")

    def summary(self, budget: Budget) -> dict[str, Any]:
        # The stored figures may be of other sizes: a request for fewer sizes does no work.
        known = self.tally(self.stored()).as_dict()
        return known | {"rows": [_row(row) | {"layers": row.layers, "digest": row.digest} for row in self.asked()]}

    def tables(self) -> list[Table]:
        rows = [_row(row) for row in self.asked()]
        return [Table("sizes", rows)] if rows else []

    def rows(self) -> Iterator[dict[str, Any]]:
        return (_row(row) for row in self.asked())


def _row(row: SizeRow) -> dict[str, Any]:
    """Return a member as a row of a table; ``None`` is unknown."""
    names = ("size", "configurations", "depth", "diameter", "radius", "pairs")
    options = " ".join(f"{name}={value}" for name, value in row.options.items())
    return {"member": options} | {name: getattr(row, name) for name in names}


def b_files(rows: Iterable[SizeRow]) -> dict[str, str]:
    """Return the tables in the form of OEIS b-files, a line ``n a(n)`` for each member, by file name.

    Members of one series are ordered by their place. ``layers`` are the rows of an irregular triangle, read one after
    the other, numbered from 1. Unknown values are left out.
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
