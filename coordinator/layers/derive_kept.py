"""Layers that hosts derive again by the reference rules, compared with the records of the run.

Each host expands its own keys by the rules and sends successors to the hosts of their ranges, as in a search. The
successors of a layer, less that layer and those before it, are the next layer by the theory
(`coordinator.layers.verify`), and must have the digest of its record. If they have not, the coordinator derives the
layers concerned itself to find the faults.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_in
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, read_answer
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.tasks import Array

#: The seconds of a request, because others may wait.
_SECONDS = 4.0


class Remade(NamedTuple):
    """Layer `depth` derived again: whether it is the `same` as the stored one, and the number of moves that led to it.

    `flow` is the sum over these moves (`worker.layers.flow`); `unlike` are keys where kernel and rules differ.
    """

    depth: Depth
    same: bool
    successors: int
    flow: int
    unlike: Keys


class _Derived(NamedTuple):
    """The last answer of a host: the figures of its expansion, the number of moves, and `unlike`."""

    expanded: HostExpanded
    successors: int
    unlike: Keys


def layers_remade(store: RunStore, keepers: Keepers, context: ComputeContext) -> Iterator[Remade]:
    """Have the hosts of a run that is exhausted make their layers again, and the one after the last, which is empty.

    Raises as `HostPool.insist`, `ElsewhereError` where a host is away.
    """
    first = next((record.depth for record in store.layer_records() if record.hosted), store.state.depth + 1)
    for depth in range(first, store.state.depth + 2):
        work = partial(_remade, store, keepers, depth, context)
        yield keepers.pool.insist(f"deriving layer {depth}", work)


def _remade(store: RunStore, keepers: Keepers, depth: Depth, context: ComputeContext) -> Remade:
    attempt, before, last = keepers.next_attempt(), store.layer_record(depth - 1).size, depth > store.state.depth
    told, number = dict[str, _Derived](), 0
    while not told or not all(each.expanded.finished for each in told.values()):
        context.control.check()
        fields = {"attempt": attempt, "round": number, "round_seconds": _SECONDS}
        answers = keepers.ask("host-derive", depth, dict.fromkeys(keepers.range_map.hosts, fields), waits=False)
        told = {host: _read(arrays, store, len(answers)) for host, arrays in answers.items()}
        found, number = sum(each.expanded.size for each in told.values()), number + 1
        context.tell(Progress(found, before, f"configurations of layer {depth - 1} derived by its hosts"))
    size, digest = _compared(keepers, depth, {"attempt": attempt, "round": number, "last": last}, told)
    record = None if last else store.layer_record(depth)
    right = (record.size, record.digest) if record else (0, digest_text(NOTHING))
    flow = total_flow(each.expanded.flow for each in told.values()) or 0
    unlike = np.concatenate([each.unlike for each in told.values()])
    same, successors = (size, digest, found) == (*right, before), sum(each.successors for each in told.values())
    return Remade(depth, same, successors, flow, unlike)


def _compared(
    keepers: Keepers, depth: Depth, fields: dict[str, Any], told: dict[str, _Derived]
) -> tuple[int, str]:  # fmt: skip
    """The size and the digest of what hosts have derived, less what is known."""
    hosts, lanes, size = keepers.range_map.hosts, NOTHING, 0
    expected = [[told[other].expanded.sent[place] for other in hosts] for place in range(len(hosts))]
    asked = {host: {**fields, "expected": expected[place]} for place, host in enumerate(hosts)}
    for arrays in keepers.ask("host-compare", depth, asked, waits=False).values():
        part = read_answer(HostMerged, arrays[0])
        lanes, size = add_lanes(lanes, lanes_in(part.digest)), size + part.size
    return size, digest_text(lanes)


def _read(arrays: list[Array], store: RunStore, hosts: int) -> _Derived:
    """Read an answer; `PayloadError` for anything else."""
    if len(arrays) == 3 and arrays[1].shape == (1,) and store.layout.holds(arrays[2]):
        expanded = read_answer(HostExpanded, arrays[0])
        if len(expanded.sent) == hosts:
            return _Derived(expanded, int(arrays[1][0]), arrays[2])
    raise PayloadError("the answer of a host is not readable: it did not derive the layer")
