"""Checks the layers that hosts keep: each host checks its part, and the sums of all are compared with the records."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.range_map import NOBODY
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.audit import Audited, LayerSums, Sample, duplicate_fault
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.worker.hosts.requests import HostChecked
from hakoiri.worker.plain import Array, unpacked


class KeptLayers(NamedTuple):
    """The result of a check: the faults of the layers that hosts keep, and what is to be compared with the rules."""

    faults: list[str]
    audited: dict[Depth, Audited]


class _Answer(NamedTuple):
    """The last answer of a host. `broken` are the depths of layers with faults.

    `figures` has for each layer [size, two lanes of the digest, goals], `copies` the same of copies, without goals.
    `duplicate` is a key that occurs in two layers, if one does; `candidates` are those of the sample of each layer.
    """

    faults: list[str]
    broken: list[Depth]
    figures: Array
    copies: Array
    duplicate: Keys
    candidates: list[Keys]


def check_kept(
    store: RunStore, keepers: Keepers, others: Keys, sample: Sample, context: ComputeContext
) -> KeptLayers:  # fmt: skip
    """Have all hosts of a run check their parts, in which none of the increasing keys `others` may occur.

    Raises as `HostPool.insist`, and `ElsewhereError` where a host is away.
    """
    records = [record for record in store.layer_records() if record.hosted]
    if not records:
        return KeptLayers([], {})
    common = {"first": records[0].depth, "seed": sample.seed, "sample": sample.wanted}
    ask = partial(_checked, keepers, records[-1].depth, common, others, context)
    told = keepers.pool.insist("the check", ask)
    answers = [_read(host, arrays) for host, arrays in told.items()]
    faults = [fault for each in answers for fault in each.faults]
    faults += [duplicate_fault(store, each.duplicate) for each in answers if len(each.duplicate)]
    own: Array = np.add.reduce([each.figures for each in answers])
    copies: Array = np.add.reduce([each.copies for each in answers])
    for number, record in enumerate(records):
        # The sums of a damaged layer prove nothing.
        if not any(record.depth in each.broken for each in answers):
            faults += _compared(record, own[number].tolist(), copies[number].tolist() if _has_copies(keepers) else [])
    candidates = map(np.concatenate, zip(*(each.candidates for each in answers), strict=True))
    audited = map(Audited, own[:, 3].tolist(), map(sample.of, candidates))
    return KeptLayers(faults, dict(zip([record.depth for record in records], audited, strict=True)))


def _compared(record: LayerRecord, own: list[int], copies: list[int]) -> Iterator[str]:
    size, one, two, _ = own
    yield from LayerSums(record.depth, size, (one, two)).faults(record)
    if copies and copies != own[:3]:
        yield f"layer {record.depth}: its copies differ from the originals"


def _has_copies(keepers: Keepers) -> bool:
    range_map = keepers.range_map
    return bool(range_map.copies) and NOBODY not in range_map.copies and not range_map.due


def _checked(
    keepers: Keepers, last: Depth, common: Mapping[str, Any], others: Keys, context: ComputeContext
) -> dict[str, list[Array]]:  # fmt: skip
    hosts, answers, number, attempt = keepers.range_map.hosts, dict[str, list[Array]](), 0, keepers.next_attempt()
    left, beside = {*hosts}, {host: [others[mine]] for host, mine in keepers.places_by_host(others, hosts).items()}
    while left:
        context.control.check()
        context.tell(Progress(len(answers), len(hosts), "hosts have checked what they keep"))
        asked = {host: {**common, "attempt": attempt, "round": number} for host in left}
        # The first request alone has the keys that lie here.
        told = keepers.ask("host-check", last, asked, lambda host: beside.pop(host, []), waits=False)
        answers |= {host: arrays for host, arrays in told.items() if unpacked(arrays, HostChecked).finished}
        left -= answers.keys()
        number += 1
    return answers


def _read(host: str, arrays: list[Array]) -> _Answer:
    """Read the last answer of a host."""
    told, figures, copies, duplicate, counts, keys = arrays
    checked = unpacked([told], HostChecked)
    faults = [f"host {host}: {fault}" for fault in checked.faults]
    return _Answer(faults, checked.broken, figures, copies, duplicate, np.split(keys, np.cumsum(counts)[:-1]))
