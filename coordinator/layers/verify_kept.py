"""The check of layers that hosts keep: each host looks at its part, and what all say is compared with the records."""

from typing import NamedTuple

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


class KeptLayers(NamedTuple):
    """What hosts say of the layers that they keep: their faults, and a sample of each layer."""

    faults: list[str]
    samples: dict[Depth, Keys]


class _Answer(NamedTuple):
    """What a host has found: for each layer [size, two lanes of the digest, goals], the same without goals of copies.

    Then a key that stands in two layers, if there is one, and a sample of each layer.
    """

    faults: list[str]
    figures: Array
    copies: Array
    twice: Keys
    samples: list[Keys]


def check_kept(store: RunStore, keepers: Keepers, seed: int, sample: int, context: ComputeContext) -> KeptLayers:
    """Have all hosts of a run check their parts.

    The samples have `sample` keys chosen by `seed`, or all of a smaller layer. Raises as `HostPool.insist`.
    """
    records = [record for record in store.layer_records() if record.hosted]
    if not records:
        return KeptLayers([], {})
    others = [store.layer(record.depth) for record in store.layer_records() if not record.hosted]
    home = sort_keys(np.concatenate([store.layout.empty(0), *others]))
    told = keepers.pool.insist("the check", lambda: _checked(keepers, records, home, seed, sample, context))
    answers = [_read(host, arrays, len(records), store) for host, arrays in told.items()]
    faults = [fault for each in answers for fault in each.faults]
    faults += [_standing_twice(store, each.twice) for each in answers if len(each.twice)]
    dealt = keepers.dealt
    copied = bool(dealt.copies) and NOBODY not in dealt.copies and not dealt.due
    for number, record in enumerate(records):
        size, one, two, goals = sum(each.figures[number] for each in answers).tolist()
        faults += LayerSums(record.depth, size, (one, two)).faults(record)
        if goals != record.goals:
            faults.append(f"layer {record.depth} has {goals} goals, its record says {record.goals}")
        if copied and [size, one, two] != sum(each.copies[number] for each in answers).tolist():
            faults.append(f"layer {record.depth}: the copies of its ranges are not what these are")
    samples = zip(*(each.samples for each in answers), strict=True)
    chosen = [_chosen(np.concatenate(parts), seed, sample) for parts in samples]
    return KeptLayers(faults, dict(zip([record.depth for record in records], chosen, strict=True)))


def _standing_twice(store: RunStore, key: Keys) -> str:
    where = [depth for depth in range(store.state.depth + 1) if store.contains(depth, key)[0]]
    return f"configuration {ints(key)[0]:#x} stands in layers {', '.join(map(str, where))}"


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


def _read(host: str, arrays: list[Array], layers: int, store: RunStore) -> _Answer:
    """Read the last answer of a host; `PayloadError` for anything else."""
    try:
        told, figures, copies, twice, counts, keys = arrays
        expected = [(figures, (layers, 4), "u8"), (copies, (layers, 3), "u8"), (counts, (layers,), "i8")]
        known = all((each.shape, each.dtype) == (shape, np.dtype(kind)) for each, shape, kind in expected)
        known = known and store.layout.holds(twice) and len(twice) < 2 and store.layout.holds(keys)
        if known and int(counts.min(initial=0)) == 0 and int(counts.sum()) == len(keys):
            faults = [f"host {host}: {fault}" for fault in read_answer(HostChecked, told).faults]
            return _Answer(faults, figures, copies, twice, np.split(keys, np.cumsum(counts)[:-1]))
    except ValueError:
        pass
    raise PayloadError(f"the answer of host {host} is not readable: it has other layers")


def _chosen(keys: Keys, seed: int, sample: int) -> Keys:
    """Return the keys that the hash of a sample puts lowest, in increasing order."""
    keys = keys[np.argsort(mixed(keys, seed), kind="stable")[:sample]]
    return sort_keys(keys.copy())
