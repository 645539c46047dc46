"""Results of a whole-space run in its store: the component of every configuration, and a record per component.

``labels``      entry per slab of 65,536 configurations in key order: CRC-32, then their components, uint32 big-endian
``components``  record per component (`storage.ledger.manifest.ComponentRecord`)
``rows``        if the components were found layer by layer, record per component: the sizes of its layers from its
                least configuration (`Profile`)
``pairs``       entry per component: CRC-32, then its diametral pairs, two keys each, big-endian; every unordered pair
                once, its lesser key first, in increasing order

While `worker.spaces.joining` counts the components, the labels are the numbers of *trees*, parts of components.
Then ``numbers`` and the number of a range in ``meta`` is a CRC-32 and a number for each tree, uint32 big-endian.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord
from hakoiri.storage.ledger.records import seal, unseal
from hakoiri.storage.names import COMPONENTS, LABELS, META, NUMBERS_KEY, PAIRS, ROWS, number_key

#: Labels in an entry.
SLAB = 1 << 16
Labels = NDArray[np.uint32]
#: The number of configurations of a component that are 0, 1, 2, ... moves from its least one.
Profile = list[int]


@dataclass(frozen=True)
class Diameter:
    """The exact distances of one component, and unordered pairs that attain the diameter, as keys (pairs, 2).

    `pairs` holds all pairs if `record.pair_count` is their number, else those found on the way; `texts` are the boards
    of some. `central` holds some configurations of the centre. `eccentricities` maps each eccentricity to its number of
    configurations. The last two are ``None`` unless requested or found on the way.
    """

    record: ComponentRecord
    pairs: Keys
    central: Keys | None = None
    eccentricities: dict[int, int] | None = None
    #: Set by an open run, as are those of `hakoiri.goals.Hardest`.
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([f"{self.diameter} moves between", *self.texts])

    @property
    def diameter(self) -> int:
        """The greatest distance between two configurations, in moves."""
        return cast(int, self.record.diameter)


def stage_labels(store: RunStore, labels: Labels, first: int = 0) -> None:
    """Stage the component of every configuration, in the order of the keys, from slab number `first` on."""
    for number, begin in enumerate(range(0, len(labels), SLAB), first):
        name = number_key(number)
        store.stage(LABELS, name, seal(labels[begin : begin + SLAB].astype(">u4").tobytes(), name))


def read_slab(store: RunStore, number: int) -> Labels:
    """Return the labels of one slab; `DamagedError` if it is damaged."""
    entry = _there(store, store.slab(number), f"labels {number}")
    payload = unseal(entry, f"labels slab {number}", number_key(number))
    return np.frombuffer(payload, dtype=">u4").astype(np.uint32)


def read_labels(store: RunStore, count: int) -> Labels:
    """The component of each of `count` configurations, in the order of the keys; `DamagedError` if a slab is wrong."""
    slabs = [read_slab(store, number) for number in range(-(-count // SLAB))]
    labels = np.concatenate(slabs) if slabs else np.empty(0, dtype=np.uint32)
    if len(labels) != count:
        raise store.damaged(f"{len(labels)} labels on disk, expected {count}")
    return labels


def stage_numbers(store: RunStore, part: int, numbers: Labels) -> None:
    """Stage the component of each tree of a range, by the number of the range."""
    name = NUMBERS_KEY + number_key(part)
    store.stage(META, name, seal(numbers.astype(">u4").tobytes(), name))


def read_numbers(store: RunStore, part: int) -> Labels:
    """Return the numbers that `stage_numbers` staged; `DamagedError` if they are damaged."""
    name = NUMBERS_KEY + number_key(part)
    raw = store.read(META, name)
    if raw is None:
        raise store.damaged("the component numbers are missing")
    return np.frombuffer(unseal(raw, f"component numbers {part}", name), dtype=">u4").astype(np.uint32)


def stage_component(store: RunStore, found: Diameter) -> None:
    """Stage a component's record and its diametral pairs."""
    name = number_key(found.record.component)
    store.stage_record(COMPONENTS, name, found.record.as_dict())
    store.stage(PAIRS, name, seal(store.layout.big_endian(found.pairs), name))


def stage_profile(store: RunStore, component: int, profile: Profile) -> None:
    """Stage the depth profile of a component."""
    store.stage_record(ROWS, number_key(component), {"layers": profile})


def read_profile(store: RunStore, component: int) -> Profile | None:
    """Return the depth profile of a component; ``None`` if the components were found by joining."""
    name, what = number_key(component), f"profile of component {component}"
    if store.read(ROWS, name) is None:
        return None
    return store.read_as(dict[str, Profile], ROWS, name, what)["layers"]


def read_component(store: RunStore, component: int) -> ComponentRecord:
    """The record of one component, by its number."""
    what = f"record of component {component}"
    with store.fitting(what):
        return ComponentRecord.from_dict(store.read_record(COMPONENTS, number_key(component), what))


def recorded_components(store: RunStore) -> dict[int, ComponentRecord]:
    """The records of all components measured so far, by number."""
    components = (int.from_bytes(name, "big") for name in store.names(COMPONENTS))
    return {component: read_component(store, component) for component in components}


def read_pairs(store: RunStore, component: int) -> Keys:
    """The diametral pairs of one component, shape (pair_count, 2), wide keys (pair_count, 2, words)."""
    name = number_key(component)
    payload = unseal(
        _there(store, store.read(PAIRS, name), f"pairs {component}"), f"pairs of component {component}", name
    )
    flat = store.checked(store.layout.from_big_endian(payload), f"the list of pairs of component {component}")
    return flat.reshape(-1, 2, *flat.shape[1:])


def read_diameter(store: RunStore, component: int) -> Diameter:
    """The record and the diametral pairs of one component."""
    return Diameter(read_component(store, component), read_pairs(store, component))


def _there(store: RunStore, entry: bytes | None, what: str) -> bytes:
    if not entry:
        raise store.damaged(f"{what} is missing")
    return entry


def component_figures(record: ComponentRecord) -> dict[str, int | None]:
    """Return the figures of a component, as in tables."""
    names = ("component", "size", "diameter", "radius", "centre", "periphery")
    return {name: getattr(record, name) for name in names} | {"pairs": record.pair_count}
