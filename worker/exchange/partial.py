"""How far a layer is that takes long: the partial record, from which another session goes on."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text
from hakoiri.storage.layers.spill import SpillFiles
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.tasks import Array


@dataclass(frozen=True)
class Partial:
    """What is done of a layer, of which `partition` has the ranges (`Partition.packed`).

    `expanded` counts keys of U(N) whose successors are durable in the spill files, in order, and `at` is the next of
    them, as hexadecimal text, where that is known; `merged` counts ranges of U(N+1).
    `part` is of a layer that is filtered out of others (`coordinator.steps.filtering`): how many keys these are
    compared with at a time. `flow` is that of the moves of the keys expanded, where it is summed.
    """

    depth: Depth
    partition: bytes
    expanded: int = 0
    at: str = ""
    merged: int = 0
    size: int = 0
    goals: int = 0
    lane_0: int = NOTHING[0]
    lane_1: int = NOTHING[1]
    stored: int = 0
    index: int = 0
    spilled: SpillFiles = field(default_factory=SpillFiles)
    part: int = 0
    flow: int | None = None

    @classmethod
    def from_record(cls, fields: dict[str, Any]) -> Self | None:
        """The inverse of ``asdict``; ``None`` for what another version has left."""
        spilled = SpillFiles.from_record(fields["spilled"])
        known = spilled is not None and isinstance(fields["partition"], bytes)
        return cls(**fields | {"spilled": spilled}) if known else None

    def plus(self, summary: Array, stored: int, index: int) -> Self:
        """With a merged piece: its size, goals and lanes of its digest; its bytes, and the index of all blocks then."""
        size, goals, *lanes = (int(value) for value in summary)
        lane_0, lane_1 = add_lanes((self.lane_0, self.lane_1), (lanes[0], lanes[1]))
        return replace(
            self, size=self.size + size, goals=self.goals + goals, lane_0=lane_0, lane_1=lane_1,
            stored=self.stored + stored, index=index,
        )  # fmt: skip

    def finished(self, session: int, flow: int | None) -> LayerRecord:
        """The record of the layer, of which nothing is left to do."""
        digest = digest_text((self.lane_0, self.lane_1))
        return LayerRecord(self.depth, self.size, digest, self.goals, self.stored, self.index, session, flow)
