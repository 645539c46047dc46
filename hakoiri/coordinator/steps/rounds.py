"""The rounds in which hosts expand a layer, until they merge it.

A layer that takes long is expanded in rounds: when all hosts have kept one it is recorded here, and a loss costs no
more than the next one. Hosts that have merged a short layer expand for the next one at once.
"""

import math
import secrets
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hakoiri.coordinator.executors.hosts import HostLostError, goes_on
from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.range_map import RangeMap
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.base import require_base
from hakoiri.puzzles.errors import counted
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.storage.names import META, ROUND_KEY
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged
from hakoiri.worker.plain import Array, unpacked

#: A layer is short if it is expanded in less time, and the layer before it was merged in less. A loss then also costs
#: the work on the next layer.
AHEAD_SECONDS = 1.0


@dataclass(frozen=True)
class LastRound:
    """The last round of layer `depth` that all hosts have kept, of one `beginning` of that layer."""

    depth: Depth
    round: int
    beginning: str = ""


class _Ahead(NamedTuple):
    """The first round of layer `depth`, expanded with the merge of the layer before.

    `range_map` has the ranges at that time, `told` the figures of each host.
    """

    depth: Depth
    range_map: RangeMap
    told: dict[str, HostExpanded]


class HostRounds:
    """The rounds of the layers that `keepers` make, one layer after the other, in the open store of `session`."""

    def __init__(self, session: Session, keepers: Keepers) -> None:
        self._session, self._store, self._keepers = session, session.store, keepers
        #: The number of the attempt at a layer, and the rounds in which that layer has been expanded so far.
        self._attempt = self._round = 0
        self._beginning = ""
        self._ahead: _Ahead | None = None
        #: The seconds that the slowest host took to merge the last layer; unknown at first.
        self._merged = math.inf

    def expand(self, depth: Depth, expanded: int) -> dict[str, HostExpanded]:
        """Have hosts expand for a layer all that is not expanded yet; return the figures of each host."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.depth == depth and ahead.range_map is self._keepers.range_map:
            self._round, told = 0, ahead.told
            self._end_round(depth, told, expanded)
        else:
            first, self._attempt = not self._attempt, self._keepers.next_attempt()
            told = self._gone_back(depth, first)
        while not told or not all(answer.finished for answer in told.values()):
            told = _told_by(self._ask("host-expand", depth, {}))
            self._end_round(depth, told, expanded)
        return told

    def merge(self, depth: Depth, told: dict[str, HostExpanded], is_last: bool) -> dict[str, HostMerged]:
        """Have hosts merge a layer that they have expanded as `told`; return the figures of each host."""
        range_map, seconds = self._keepers.range_map, max(answer.seconds for answer in told.values())
        is_short = max(seconds, self._merged) < AHEAD_SECONDS and self._round == 1
        # Sending copies of this layer would abandon the work on the next one.
        ahead = is_short and not is_last and not range_map.copies
        answers = self._ask("host-merge", depth, told, ahead=ahead)
        self._ahead = _Ahead(depth + 1, range_map, _told_by(answers)) if ahead else None
        merged = {host: unpacked(arrays, HostMerged) for host, arrays in answers.items()}
        self._merged = max(answer.seconds for answer in merged.values())
        if fault := _lost_keys(told, merged):
            # IMPORTANT: the loss may be in a round that is kept.
            self._store.erase(META, ROUND_KEY)
            self._session.commit(self._store.state)
            raise HostLostError(fault)
        return merged

    def forget(self) -> None:
        """Expand the next layer anew: hosts have abandoned what they began ahead."""
        self._ahead = None

    def end(self) -> None:
        """Have hosts discard what they have begun; they may have kept rounds of it."""
        self._ahead = None
        self._keepers.tell("host-back", self._store.state.depth + 1)

    def _end_round(self, depth: Depth, told: dict[str, HostExpanded], expanded: int) -> None:
        """Count a round, and have hosts keep it unless it is the only one of its layer."""
        if self._keepers.base is not None:
            require_base(self._keepers, self._keepers.base, [answer.within for answer in told.values()])
        self._round += 1
        if self._round > 1 or not all(answer.finished for answer in told.values()):
            self._keep(depth, told, expanded)

    def _gone_back(self, depth: Depth, first: bool) -> dict[str, HostExpanded]:
        """Have hosts go back to the last round that all have kept; return their answers, none if the layer is begun.

        The `first` attempt of a session says that it goes on.
        """
        if (kept := self._kept(depth)) is None:
            self._round, self._beginning = 0, _new_beginning()
            return {}
        self._round, self._beginning = kept.round, kept.beginning
        told = _told_by(self._ask("host-back", depth, {}))
        if lost := [host for host, answer in told.items() if answer.round != self._round]:
            self._session.observer.note(f"{', '.join(lost)} cannot go back to its last round; layer {depth} restarts")
            # Who could go back takes messages of this attempt already.
            self._attempt, self._round, told = self._keepers.next_attempt(), 0, {}
            self._beginning = _new_beginning()
        elif first:
            self._session.observer.note(f"layer {depth} {goes_on(self._round)}")
        return told

    def kept(self, depth: Depth) -> int:
        """Return the last round of a layer that all hosts have kept, else 0."""
        kept = self._kept(depth)
        return kept.round if kept else 0

    def _kept(self, depth: Depth) -> LastRound | None:
        kept = self._store.read_if_any(LastRound, META, ROUND_KEY, "record of its last round")
        return kept if kept and kept.depth == depth else None

    def _keep(self, depth: Depth, told: dict[str, HostExpanded], expanded: int) -> None:
        """Have all hosts keep the round, then record it."""
        self._ask("host-keep", depth, told)
        self._store.stage_record(META, ROUND_KEY, asdict(LastRound(depth, self._round, self._beginning)))
        found, state = sum(answer.size for answer in told.values()), self._store.state
        headline = f"layer {depth}: expanded {found:,} of {expanded:,}, {counted(self._round, 'rounds')}"
        self._session.tell(Progress(state.figures["configurations"], headline=headline, disk=state.stored_bytes))
        self._session.commit(state)

    def _ask(
        self, task: str, depth: Depth, told: dict[str, HostExpanded], **more: Any
    ) -> dict[str, list[Array]]:  # fmt: skip
        """Return the answers of all hosts to a request. It states how many messages each gets from those in `told`."""
        tuning, hosts = self._session.context.tuning, self._keepers.range_map.hosts
        common = {
            "attempt": self._attempt, "beginning": self._beginning, "round": self._round,
            "round_seconds": tuning.checkpoint, "commit_seconds": tuning.range_commit, **more,
        }  # fmt: skip
        expected = {host: [told[other].sent[n] for other in hosts if told] for n, host in enumerate(hosts)}
        fields = {host: {**common, "expected": expected[host]} for host in hosts}
        return self._keepers.ask(task, depth, fields)


def _lost_keys(told: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> str:
    """Return the first range whose host has not as many keys as others have sent, in words; else nothing."""
    given, taken = (
        np.array([getattr(answer, name) for answer in answers.values()]).sum(axis=0)
        for answers, name in ((told, "given"), (merged, "taken"))
    )
    if np.array_equal(given, taken):
        return ""
    lost = int(np.argmax(given != taken))
    return f"of {given[lost]:,} keys sent to range {lost} its host has {taken[lost]:,}"


def _new_beginning() -> str:
    """Return a random text, the name of one beginning of a layer; a restored coordinator draws another one, too."""
    return secrets.token_hex(8)


def _told_by(answers: dict[str, list[Array]]) -> dict[str, HostExpanded]:
    """Return the figures of hosts about expanding, which come last in their answers."""
    return {host: unpacked(arrays[-1:], HostExpanded) for host, arrays in answers.items()}
