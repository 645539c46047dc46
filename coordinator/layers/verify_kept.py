"""The check of layers that hosts keep: each host looks at its part, and what all say is compared with the records."""

from dataclasses import dataclass

import numpy as np

from hakoiri.coordinator.executors.dealt import NOBODY
from hakoiri.coordinator.executors.hosts import Keepers
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.audit import LayerSums
from hakoiri.storage.layers.digest import mixed
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostChecked, read_answer
from hakoiri.worker.tasks import Array


@dataclass
class KeptLayers:
    """What hosts say of the layers that they keep: their `faults`, and a sample of each."""

    faults: list[str]
    samples: dict[Depth, Keys]


def check_kept(store: RunStore, keepers: Keepers, seed: int, sample: int, context: ComputeContext) -> KeptLayers:
    """Have all hosts of a run check their parts.

    The samples have `sample` keys chosen by `seed`, or all of a smaller layer. Raises as `HostPool.insist`.
    """
    records = [record for record in store.layer_records() if record.hosted]
    if not records:
        return KeptLayers([], {})
    others = [store.layer(record.depth) for record in store.layer_records() if not record.hosted]
    home = sort_keys(np.concatenate([store.layout.empty(0), *others]))
    answers = keepers.pool.insist("the check", lambda: _checked(keepers, records, home, seed, sample, context))
    faults, samples = list[str](), [list[Keys]() for _ in records]
    totals, copied = np.zeros((len(records), 4), dtype=np.uint64), np.zeros((len(records), 3), dtype=np.uint64)
    for host, (told, *arrays) in answers.items():
        faults += [f"host {host}: {fault}" for fault in read_answer(HostChecked, told).faults]
        figures, copies, twice, keys = _read(host, arrays, len(records), store)
        totals += figures
        copied += copies
        for key in ints(twice):
            where = [depth for depth in range(store.state.depth + 1) if store.contains(depth, twice)[0]]
            faults.append(f"configuration {key:#x} stands in layers {', '.join(map(str, where))}")
        for parts, part in zip(samples, keys, strict=True):
            parts.append(part)
    has_copies = bool(keepers.dealt.copies) and NOBODY not in keepers.dealt.copies and not keepers.dealt.due
    for record, own, others in zip(records, totals.tolist(), copied.tolist(), strict=True):
        size, one, two, goals = own
        faults += LayerSums(record.depth, size, (one, two)).faults(record)
        if has_copies and others != own[:3]:
            faults.append(f"layer {record.depth}: the copies of its ranges are not what these are")
        if goals != record.goals:
            faults.append(f"layer {record.depth} has {goals} goals, its record says {record.goals}")
    chosen = [_chosen(np.concatenate(parts), seed, sample) for parts in samples]
    return KeptLayers(faults, {record.depth: keys for record, keys in zip(records, chosen, strict=True)})


def _checked(
    keepers: Keepers, records: list[LayerRecord], home: Keys, seed: int, sample: int, context: ComputeContext
) -> dict[str, list[Array]]:  # fmt: skip
    """Return the last answer of each host."""
    common = {"first": records[0].depth, "attempt": keepers.next_attempt(), "seed": seed, "sample": sample}
    left, answers, number = set(keepers.dealt.hosts), dict[str, list[Array]](), 0
    # The first request alone has the keys that lie here.
    beside = {host: [home] for host in left}
    while left:
        context.control.check()
        context.tell(Progress(len(answers), len(keepers.dealt.hosts), "hosts have checked what they keep"))
        asked = {host: {**common, "round": number} for host in left}
        told = keepers.ask("host-check", records[-1].depth, asked, lambda host: beside.pop(host, []))
        answers |= {host: arrays for host, arrays in told.items() if read_answer(HostChecked, arrays[0]).finished}
        left -= answers.keys()
        number += 1
    return answers


def _read(host: str, arrays: list[Array], layers: int, store: RunStore) -> tuple[Array, Array, Keys, list[Keys]]:
    """Return the figures, those of copies, the key that stands twice, and each sample; else raise `PayloadError`."""
    try:
        figures, copies, twice, counts, keys = arrays
        known = (figures.shape, copies.shape) == (
            (layers, 4),
            (layers, 3),
        ) and figures.dtype == copies.dtype == np.uint64
        known = known and counts.shape == (layers,) and counts.dtype == np.int64 and int(counts.min(initial=0)) == 0
        if known and store.layout.holds(twice) and store.layout.holds(keys) and int(counts.sum()) == len(keys):
            return figures, copies, twice, np.split(keys, np.cumsum(counts)[:-1])
    except ValueError:
        pass
    raise PayloadError(f"the answer of host {host} is not readable: it has other layers")


def _chosen(keys: Keys, seed: int, sample: int) -> Keys:
    """Return the keys that the hash of a sample puts lowest, in increasing order."""
    keys = keys[np.argsort(mixed(keys, seed), kind="stable")[:sample]]
    return sort_keys(keys.copy())
