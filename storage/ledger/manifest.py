"""The manifest of a run (its identity, never changed) and its state (rewritten with every commit)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, Self, get_args, get_origin

from hakoiri.puzzles.errors import Hint

Depth = int
Status = Literal["queued", "running", "complete", "interrupted", "cancelled", "failed"]
_MSGPACK_BITS = 64
#: Above every number in a record except keys; NaN is not below it either.
_MOST = 1 << 64
#: The fields that every puzzle's map has, with their types.
_OF_PUZZLES: dict[str, Any] = {"name": str, "options": Mapping[str, str], "start": str | None, "merge_mirrors": bool}
#: The kinds of run that have another name in manifests on disk, and the inverse.
_IN_RECORDS = {"census": "whole"}
_NOW = {there: kind for kind, there in _IN_RECORDS.items()}
#: The states in which a run is not resumed automatically.
ENDED: tuple[Status, ...] = ("complete", "cancelled", "failed")


def local_time() -> str:
    """Return the current time with this machine's time zone: ``2026-11-21 10:00:00+01:00``."""
    return datetime.now().astimezone().isoformat(" ", "seconds")


@dataclass(frozen=True)
class Manifest:
    """The identity of a run. A resume with another identity is refused.

    `puzzle` is a `puzzles.registry.PuzzleSpec` as a map, `layout` a name in `puzzles.keys.layout.LAYOUTS`, `created` a
    local time. `kind` is a kind of run (`coordinator.runs.kinds`), `plan` its further parameters, defined by the kind.
    `settings` are ways of working (chunk, memory) that a resume may change.

    IMPORTANT: its record keeps the names of version 0.1, `mode` for `kind` and ``whole`` for ``census``: hosts find
    their parts of a run by a digest of it.
    """

    format: int
    run: str
    created: str
    puzzle: Mapping[str, Any]
    puzzle_version: int
    layout: str
    kind: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        fields = vars(self) | {"kind": _IN_RECORDS.get(self.kind, self.kind)}
        return {"mode" if name == "kind" else name: value for name, value in fields.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Manifest":
        """The inverse of `as_dict`; ``TypeError`` for fields that are not those of a manifest."""
        found = cls(**typed_fields(cls, fields | {"kind": fields.get("mode")}))
        for name, kind in _OF_PUZZLES.items():
            if name not in found.puzzle or not _fits(found.puzzle[name], kind):
                raise TypeError(f"{name} of the puzzle is malformed")
        if not isinstance(found.puzzle.get("digest", ""), str):
            raise TypeError("digest of the puzzle is malformed")
        return replace(found, kind=_NOW.get(found.kind, found.kind))


@dataclass(frozen=True)
class Progress:
    """The progress of a run in words and numbers that do not depend on its kind.

    `done` of `total` (``None``: unknown) items called `unit` are done. `headline` names the present step.
    `seconds_left` is a lower and an upper bound. `work` and `work_unit` are counted for the run's rate if that is not
    `done`. `disk` is the number of bytes that the run takes now. `step_left` is the time left for the step in
    `headline`, `most_left` an upper bound for the run, both in seconds at the observed rate.
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
    """Return the unit of the run's rate, e.g. ``configurations/s``; ``deals/s`` if the unit is ``deals tried``."""
    unit = progress.unit if progress.work is None else progress.work_unit
    return f"{unit.partition(' ')[0]}/s"


@dataclass(frozen=True)
class State:
    """The state of a run as of its last commit; the same for every kind of run.

    `reason` says why it stopped, `hints` what may help. `depth` is that of the last committed layer, -1 before the
    first. `seconds` is the time of all sessions together, `updated` a Unix time, `stored_bytes` the size of all
    committed layers on disk. `figures` are those of the run's kind, by the names that users see (`Figures`). `work_log`
    says where the work was done (`coordinator.session.work_log`). `lost_sessions` counts the sessions since the last
    commit of work that ended without a reason.
    """

    status: Status = "queued"
    reason: str = ""
    hints: tuple[Hint, ...] = ()
    session: int = 0
    depth: Depth = -1
    stored_bytes: int = 0
    digest: str = ""
    seconds: float = 0.0
    updated: float = 0.0
    progress: Progress = field(default_factory=Progress)
    figures: Mapping[str, Any] = field(default_factory=dict)
    work_log: Mapping[str, Any] = field(default_factory=dict)
    lost_sessions: int = 0

    def become(self, status: Status, reason: str = "", hints: tuple[Hint, ...] = ()) -> "State":
        """Return the state with another status."""
        return replace(self, status=status, reason=reason, hints=hints)

    def as_dict(self) -> dict[str, Any]:
        return vars(self) | {"progress": dict(vars(self.progress))}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "State":
        """The inverse of `as_dict`; ``KeyError`` or ``TypeError`` for fields that are not those of a state."""
        progress = Progress(**typed_fields(Progress, fields["progress"]))
        # Version 0.1 called them steps and places.
        hints = Hint.read(fields.get("hints", fields.get("steps", ())))
        work_log = fields.get("work_log", fields.get("places", {}))
        return cls(**typed_fields(cls, fields | {"progress": progress, "hints": hints, "work_log": work_log}))


class Figures:
    """The base of the dataclasses that hold the results of one kind of run."""

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the figures of a state; a missing field has its default.

        The metadata of a field whose name was another in earlier versions holds that name (`formerly`).
        """
        earlier = {entry.metadata.get("formerly"): entry.name for entry in fields(cls)}  # type: ignore[arg-type]
        return cls(**known_fields(cls, {earlier.get(name, name): value for name, value in state.figures.items()}))

    def as_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class LayerRecord:
    """The record of one committed layer: its numbers of configurations and goals, its digest, its bytes on disk.

    `index` is the CRC-32 of the names of all its blocks, so that a lost block is not taken for absence. `session` is
    the number of the session, counted from the run's first, that committed the layer. `flow` is that of all moves from
    the layer before it (`worker.layers.flow`), if it was summed. The blocks of a `hosted` layer are at hosts, and its
    `index` has no meaning. `work` says who expanded the layer before it (`coordinator.session.work_log`); it is empty
    if threads of one process did.
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
    work: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ComponentRecord:
    """The record of one component of a whole space, numbered by size, the largest first, ties by least key.

    Distances are in moves; ``None`` is unknown. A component that was left out has none of them. A large one outside a
    census has only its diameter, which is found without measuring every configuration. `centre` and `periphery` count
    the configurations whose eccentricity is the radius and the diameter; `representative` is the least key.
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
        """Return the fields for msgpack; a key of more than 64 bits, which msgpack cannot hold, as hexadecimal text."""
        wide = self.representative >> _MSGPACK_BITS
        return vars(self) | ({"representative": hex(self.representative)} if wide else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ComponentRecord":
        key = fields["representative"]
        return cls(**known_fields(cls, fields) | {"representative": int(key, 16) if isinstance(key, str) else key})


def known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of `values` that are fields of the dataclass `kind`; later minor versions may add others.

    ``TypeError`` if `values` is not a map.
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{kind.__name__} is malformed")
    names = _types_of(kind)
    return {name: value for name, value in values.items() if name in names}


@cache
def _types_of(kind: type) -> dict[str, Any]:
    return {entry.name: entry.type for entry in fields(kind)}


def typed_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `known_fields`; ``TypeError`` names a field whose value does not have the type declared in the dataclass.

    A run may come from another user, who can write anything under a right checksum.
    """
    known, kinds = known_fields(kind, values), _types_of(kind)
    for name, value in known.items():
        if not _fits(value, kinds[name]):
            raise TypeError(f"{name} is malformed")
    return known


def all_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `typed_fields`; ``TypeError`` if `values` has other fields, which must not be ignored."""
    known = typed_fields(kind, values)
    if unknown := [str(name) for name in values if name not in known]:
        raise TypeError(f"{', '.join(unknown)} is not known")
    return known


def _fits(value: Any, kind: Any) -> bool:
    if kind is str or kind is bool:
        return isinstance(value, kind)
    if kind is int or kind is float:
        numbers = int if kind is int else int | float
        return isinstance(value, numbers) and not isinstance(value, bool) and abs(value) < _MOST
    return _fits_parts(value, kind)


def _fits_parts(value: Any, kind: Any) -> bool:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        several = parts[:1] * len(value) if parts[-1] is ... and isinstance(value, list | tuple) else parts
        return isinstance(value, list | tuple) and len(value) == len(several) and all(map(_fits, value, several))
    if (origin or kind) is Mapping:
        only = parts[1] if parts else Any
        return (
            isinstance(value, Mapping)
            and _is_plain(value)
            and (only is Any or all(_fits(v, only) for v in value.values()))
        )
    return isinstance(value, origin or kind)


def _is_plain(value: Any) -> bool:
    """Return whether JSON can hold a value: records contain neither bytes nor names that are not text."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(part) for name, part in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
