"""The record of an unfinished layer, from which another session continues."""

from dataclasses import dataclass, field, replace
from typing import Self

from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text
from hakoiri.storage.layers.spill import NO_FILES, SpillFiles
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.plain import Array


@dataclass(frozen=True)
class Partial:
    """The finished part of a layer whose ranges are those of `partition` (`Partition.packed`).

    `expanded` counts the keys of U(N), in order, whose successors are durable in the spill files. `at` is the next of
    them, as hexadecimal text, if known. `merged` counts ranges of U(N+1).

    `part` is for layers that are filtered out of others (`coordinator.steps.filtering`): the number of keys that these
    are compared with at a time. `flow` is that of the moves of the keys expanded, if it is summed.
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
    spilled: SpillFiles = NO_FILES
    part: int = 0
    flow: int | None = None

    def plus(self, summary: Array, stored: int, index: int) -> Self:
        """Return this with a merged piece added: its size, goals and digest lanes, its bytes, and the new index."""
        size, goals, *lanes = (int(value) for value in summary)
        lane_0, lane_1 = add_lanes((self.lane_0, self.lane_1), (lanes[0], lanes[1]))
        return replace(
            self, size=self.size + size, goals=self.goals + goals, lane_0=lane_0, lane_1=lane_1,
            stored=self.stored + stored, index=index,
        )  # fmt: skip

    def finished(self, session: int, flow: int | None) -> LayerRecord:
        digest = digest_text((self.lane_0, self.lane_1))
        return LayerRecord(self.depth, self.size, digest, self.goals, self.stored, self.index, session, flow)


#: What is found is sent in so many parts at most, for what is found in two of them is sent twice: with 4, pancakes of
#: 11 send 1.10 times as many bytes by 8 hosts, the 3x4 tiles 1.02 times. On fast links there is one part: more cost
#: pancakes of 11 by 8 hosts a fifth of the processor time, and bring nothing.
PARTS = 4


@dataclass(frozen=True)
class RoundMark(Partial):
    """The progress of the layer after `round` rounds, which took `seconds`, and bytes `sent` and `received`.

    Marks of another `beginning` are of no use: a host may have been restored to one of an earlier attempt.

    `begun` maps each range to the key below which it is expanded; both are text, the key hexadecimal. `given` and
    `taken` count by range the keys in messages to others, and from others.
    """

    round: int = 0
    beginning: str = ""
    seconds: float = 0.0
    sent: int = 0
    received: int = 0
    begun: dict[str, str] = field(default_factory=dict)
    given: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
