"""What a run is (pinned for ever) and how far it has come (rewritten with every commit)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Self, get_args, get_origin

from hakoiri.puzzles.errors import Step

Depth = int
Status = Literal["queued", "running", "complete", "interrupted", "cancelled", "failed"]
_MSGPACK_BITS = 64
#: Beyond any number of a record that is no key; NaN is not below it either.
_MOST = 1 << 64
#: What every map of a puzzle has.
_OF_PUZZLES: dict[str, Any] = {"name": str, "options": Mapping[str, str], "start": str | None, "merge_mirrors": bool}
#: A run with one of these states is not driven any further by itself.
ENDED: tuple[Status, ...] = ("complete", "cancelled", "failed")


def local_time() -> str:
    """Now, by the clock and with the zone of this machine: ``2026-11-21 10:00:00+01:00``."""
    return datetime.now().astimezone().isoformat(" ", "seconds")


@dataclass(frozen=True)
class Manifest:
    """The identity of a run. A resume with anything else is refused.

    `puzzle` is a `puzzles.registry.PuzzleSpec` as a map, `layout` a name in `puzzles.keys.layout.LAYOUTS`, `created` a
    local time. `mode` is a kind of run (`coordinator.runs.kinds`), `plan` what it is to do besides, in the kind's own
    words. `settings` are the ways of working (chunk, memory) that a resume may change.
    """

    format: int
    run: str
    created: str
    puzzle: Mapping[str, Any]
    puzzle_version: int
    layout: str
    mode: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Manifest":
        """The inverse of `as_dict`; ``TypeError`` for fields that are no manifest."""
        found = cls(**typed_fields(cls, fields))
        for name, kind in _OF_PUZZLES.items():
            if name not in found.puzzle or not _fits(found.puzzle[name], kind):
                raise TypeError(f"{name} of the puzzle is malformed")
        if not isinstance(found.puzzle.get("digest", ""), str):
            raise TypeError("digest of the puzzle is malformed")
        return found


@dataclass(frozen=True)
class Progress:
    """How far a run is, in words and numbers that need no knowledge of its kind.

    `done` of `total` (``None``: nobody knows how many) things called `unit`; `headline` says what is being done;
    `seconds_left` lie between two bounds. `work` is what the run's rate counts where that is not `done`, and its unit;
    `disk` how many bytes the run takes by now. `step_left` are the seconds that what the headline names takes yet,
    `most_left` those that the run takes at most, at the pace seen.
    """

    done: int = 0
    total: int | None = None
    unit: str = "configurations"
    headline: str = ""
    seconds_left: tuple[float, float] | None = None
    work: int | None = None
    work_unit: str = "configurations"
    disk: int | None = None
    step_left: float | None = None
    most_left: float | None = None


def per_second(progress: Progress) -> str:
    """The unit of its rate: ``configurations/s``; of ``deals tried`` it is ``deals/s``."""
    unit = progress.unit if progress.work is None else progress.work_unit
    return f"{unit.partition(' ')[0]}/s"


@dataclass(frozen=True)
class State:
    """How far a run has come, always that of its last commit; the same for every kind of run.

    `reason` says why it stopped, `steps` what may help. `depth` is that of the last committed layer, -1 before the
    first; `seconds` the time of all sessions together; `updated` a Unix time; `stored_bytes` what all committed layers
    take on disk. `figures` are those of the run's kind, by the names that users see (`Figures`). `places` say where the
    work was done (`coordinator.session.work_log`). `lost_sessions` counts those that ended without a reason since the
    last commit of work.
    """

    status: Status = "queued"
    reason: str = ""
    steps: tuple[Step, ...] = ()
    session: int = 0
    depth: Depth = -1
    stored_bytes: int = 0
    digest: str = ""
    seconds: float = 0.0
    updated: float = 0.0
    progress: Progress = field(default_factory=Progress)
    figures: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Any] = field(default_factory=dict)
    lost_sessions: int = 0

    def become(self, status: Status, reason: str = "", steps: tuple[Step, ...] = ()) -> "State":
        """Return the state with another status."""
        return replace(self, status=status, reason=reason, steps=steps)

    def as_dict(self) -> dict[str, Any]:
        return vars(self) | {"progress": dict(vars(self.progress))}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "State":
        """The inverse of `as_dict`; ``KeyError`` or ``TypeError`` for fields that are no state."""
        progress = Progress(**typed_fields(Progress, fields["progress"]))
        steps = Step.read(fields.get("steps", ()))
        return cls(**typed_fields(cls, fields | {"progress": progress, "steps": steps}))


class Figures:
    """What one kind of run has found, as a dataclass of its own: the base of those."""

    @classmethod
    def of(cls, state: State) -> Self:
        """Those of a state; what it does not have is as at the beginning.

        A field that had another name when the run was made says so in its metadata (`formerly`).
        """
        earlier = {entry.metadata.get("formerly"): entry.name for entry in fields(cls)}  # type: ignore[arg-type]
        return cls(**known_fields(cls, {earlier.get(name, name): value for name, value in state.figures.items()}))

    def as_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class LayerRecord:
    """One committed layer: how many configurations and goals, its digest, its bytes on disk, who computed it.

    `index` is the CRC-32 of the names of all its blocks, so that a lost block is not taken for absence. `session`
    counts the processes that drove the run; a layer keeps the number of the one that committed it. `flow` is that of
    all moves from the layer before it (`worker.layers.flow`), where it was summed. The blocks of a `hosted` layer are
    at hosts, and `index` says nothing.
    """

    depth: Depth
    size: int
    digest: str
    goals: int
    stored_bytes: int
    index: int
    session: int
    flow: int | None = None
    hosted: bool = False

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ComponentRecord:
    """One component of a whole space, the largest first, ties by least key. Distances in moves.

    ``None`` is not known: nothing of a component that was left out, and of a large one that is no part of a census
    only the diameter, which is found without measuring every configuration.
    `centre` and `periphery` count the configurations whose eccentricity is the radius and the diameter;
    `representative` is the least key.
    """

    component: int
    size: int
    diameter: int | None
    radius: int | None
    centre: int | None
    periphery: int | None
    pair_count: int | None
    representative: int

    def as_dict(self) -> dict[str, Any]:
        """For msgpack, which has no integers of more than 64 bits: a wider key goes as hexadecimal text."""
        wide = self.representative >> _MSGPACK_BITS
        return vars(self) | ({"representative": hex(self.representative)} if wide else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ComponentRecord":
        key = fields["representative"]
        return cls(**known_fields(cls, fields) | {"representative": int(key, 16) if isinstance(key, str) else key})


def known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `values` that the dataclass `kind` has, so that a later minor version may add fields.

    ``TypeError`` where they are no fields at all.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{kind.__name__} is malformed")
    names = {entry.name for entry in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def typed_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The same; ``TypeError`` names a field whose value is not of the type that the dataclass says.

    A run may come from somebody else, who can write anything under a right checksum.
    """
    known, kinds = known_fields(kind, values), {entry.name: entry.type for entry in fields(kind)}
    for name, value in known.items():
        if not _fits(value, kinds[name]):
            raise TypeError(f"{name} is malformed")
    return known


def all_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The same; ``TypeError`` for what `kind` does not have, which must not be passed over."""
    known = typed_fields(kind, values)
    if unknown := [str(name) for name in values if name not in known]:
        raise TypeError(f"{', '.join(unknown)} is not known")
    return known


def _fits(value: Any, kind: Any) -> bool:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        several = parts[:1] * len(value) if parts[-1] is ... and isinstance(value, list | tuple) else parts
        return isinstance(value, list | tuple) and len(value) == len(several) and all(map(_fits, value, several))
    if kind in (int, float):
        numbers = int if kind is int else int | float
        return isinstance(value, numbers) and not isinstance(value, bool) and abs(value) < _MOST
    if (origin or kind) is Mapping:
        only = parts[1] if parts else Any
        return (
            isinstance(value, Mapping)
            and _is_plain(value)
            and (only is Any or all(_fits(v, only) for v in value.values()))
        )
    return isinstance(value, origin or kind)


def _is_plain(value: Any) -> bool:
    """Whether JSON could hold a value: bytes, and names that are no text, are in no record."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(part) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
