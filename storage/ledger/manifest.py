"""What a run is (pinned for ever) and how far it has come (rewritten with every commit)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

Depth = int
Mode = Literal["explore", "whole", "tree"]
Status = Literal["queued", "running", "complete", "interrupted", "cancelled", "failed"]
_MSGPACK_BITS = 64
#: A run with one of these states is not driven any further by itself.
ENDED: tuple[Status, ...] = ("complete", "cancelled", "failed")


@dataclass(frozen=True)
class Manifest:
    """The identity of a run. A resume with anything else is refused.

    `puzzle` is a `puzzles.registry.PuzzleSpec` as a map, `layout` a name in `puzzles.keys.layout.LAYOUTS`, `created` a
    local time; `settings` are the ways of working (chunk, memory, workers) that a resume may change.
    """

    format: int
    run: str
    created: str
    puzzle: Mapping[str, Any]
    puzzle_version: int
    layout: str
    mode: Mode
    until_goal: bool
    settings: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For msgpack."""
        return asdict(self)


@dataclass(frozen=True)
class State:
    """How far a run has come, always that of its last commit.

    `depth` is that of the last committed layer, -1 before the first; `seconds` the time of all sessions together;
    `exhausted` says that nothing is left to find.
    `stored_bytes` is what all committed layers take on disk.
    `edges`, `components` and `components_done` belong to the whole space; `updated` is a Unix time.
    Of a tree `configurations` counts the solutions, `orbits` and `classes` them up to symmetry, `nodes` the numbers
    placed; `depth` is that of the last layer of prefixes, or of the solutions kept; `chunks` are
    those of the subtrees, `processor` the seconds of a processor that these took, and `left` how many seconds of the
    clock they will take yet, between two bounds (`coordinator.trees.estimate`).
    """

    status: Status = "queued"
    reason: str = ""
    session: int = 0
    depth: Depth = -1
    configurations: int = 0
    goal_depth: Depth | None = None
    exhausted: bool = False
    edges: int | None = None
    components: int | None = None
    components_done: int = 0
    orbits: int | None = None
    classes: int | None = None
    nodes: int | None = None
    chunks: int | None = None
    chunks_done: int = 0
    processor: float = 0.0
    left: tuple[float, float] | None = None
    digest: str = ""
    stored_bytes: int = 0
    seconds: float = 0.0
    updated: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For msgpack."""
        return asdict(self)


@dataclass(frozen=True)
class LayerRecord:
    """One committed layer: how many configurations and goals, its digest, its bytes on disk, who computed it.

    `index` is the CRC-32 of the names of all its blocks, so that a lost block is not taken for absence. `session`
    counts the processes that drove the run; a layer keeps the number of the one that committed it.
    """

    depth: Depth
    size: int
    digest: str
    goals: int
    stored_bytes: int
    index: int
    session: int

    def as_dict(self) -> dict[str, Any]:
        """For msgpack."""
        return asdict(self)


@dataclass(frozen=True)
class ComponentRecord:
    """One component of a whole space, the largest first, ties by least key. Distances in moves.

    ``None`` is not known: the diameter of a large component is found without measuring every configuration.
    `centre` and `periphery` count the configurations whose eccentricity is the radius and the diameter;
    `representative` is the least key.
    """

    component: int
    size: int
    diameter: int
    radius: int | None
    centre: int | None
    periphery: int | None
    pair_count: int | None
    representative: int

    def as_dict(self) -> dict[str, Any]:
        """For msgpack, which has no integers of more than 64 bits: a wider key goes as hexadecimal text."""
        wide = self.representative >> _MSGPACK_BITS
        return asdict(self) | ({"representative": hex(self.representative)} if wide else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ComponentRecord":
        """The inverse of `as_dict`."""
        key = fields["representative"]
        return cls(**known_fields(cls, fields) | {"representative": int(key, 16) if isinstance(key, str) else key})


def known_fields(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `values` that the dataclass `kind` has, so that a later minor version may add fields."""
    names = {entry.name for entry in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
