"""Results of runs besides layers: rows one after another, the components of a whole space.

``rows``             record per row, named by its table (a text), ``/`` and its number, 4 bytes big-endian
``beam``/``arrays``  record: for each array its dtype and shape
``beam``             entry per megabyte of an array, named by its name, ``/`` and a number, 4 bytes big-endian: CRC-32,
                     then the bytes. The arrays hold the state of a search, from which another process can continue,
                     or the bounds proved for the eccentricities of a component

``labels``      entry per slab of 65,536 configurations in key order: CRC-32, then their components, uint32 big-endian
``components``  record per component (`storage.ledger.manifest.ComponentRecord`)
``rows``        if the components were found layer by layer, record per component: the sizes of its layers from its
                least configuration (`Profile`)
``pairs``       entry per component: CRC-32, then its diametral pairs, two keys each, big-endian; every unordered pair
                once, its lesser key first, in increasing order

While `worker.census.joining` counts the components, the labels are the numbers of *trees*, parts of components.
Then ``numbers`` and the number of a range in ``meta`` is a CRC-32 and a number for each tree, uint32 big-endian.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Keys
from hakoiri.storage import names
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import ComponentRecord, Count, seal, typed, unseal
from hakoiri.storage.names import BEAM, COMPONENTS, META, NUMBERS_KEY, PAIRS, ROWS, number_key

_DIRECTORY = b"arrays"
_NUMBER_BYTES = len(number_key(0))
#: Small values are put in the room of older ones, so that the file does not grow with every commit.
_PIECE = 1 << 20
_Row = TypeVar("_Row")


class ResultRows:
    """One table of an open run."""

    def __init__(self, ledger: Ledger, table: str) -> None:
        self._ledger, self._table, self._prefix = ledger, table, f"{table}/".encode()

    def stage(self, number: int, row: Any, *without: str) -> None:
        """Stage a row, a dataclass or a map, `without` some fields; it replaces an older row of this number."""
        fields = row if isinstance(row, Mapping) else asdict(row)
        fields = {name: value for name, value in fields.items() if name not in without}
        self._ledger.stage_record(ROWS, self._name(number), fields)

    def numbers(self) -> list[int]:
        """The numbers of the rows, in order. `DamagedError` for a damaged name, which may be that of a row."""
        found = []
        for name in self._ledger.names(ROWS):
            if name.startswith(self._prefix) and len(name) == len(self._prefix) + _NUMBER_BYTES:
                found.append(int.from_bytes(name[-_NUMBER_BYTES:], "big"))
            else:
                # A row of another table, unless its checksum, which covers its name, says otherwise.
                self._ledger.read_as(Raw, ROWS, name, _named(name))
        return found

    def read(self, number: int) -> dict[str, Any]:
        """Return one row; a `DamagedError` names it."""
        return self._ledger.read_record(ROWS, self._name(number), f"row {number} of {self._table}")

    def _name(self, number: int) -> bytes:
        return self._prefix + number_key(number)

    def all(self, kind: type[_Row], named: str = "", **more: Any) -> dict[int, _Row]:
        """Return the rows as a `kind`, by number. `named` is its field for the number, `more` others of the table.

        Raises `DamagedError`, naming the row, if it cannot be read or is malformed.
        """
        found = {}
        for number in self.numbers():
            what = f"row {number} of {self._table}"
            if named:
                with self._ledger.fitting(what):
                    found[number] = typed(self.read(number) | {named: number, **more}, kind)
            else:
                found[number] = self._ledger.read_as(kind, ROWS, self._name(number), what)
        return found


def forget_damaged_rows(ledger: Ledger, note: Callable[[str], None], remedy: str) -> None:
    """Stage the removal of all rows that cannot be read; call `note` with the error of each and the `remedy`.

    Rows whose names begin with a damaged one go with it.
    """
    for name in ledger.names(ROWS):
        try:
            ledger.read_as(Raw, ROWS, name, _named(name))
        except DamagedError as error:
            note(f"{error}; {remedy}")
            ledger.erase(ROWS, name)


def _named(name: bytes) -> str:
    table, number = name[: -_NUMBER_BYTES - 1].decode(errors="replace"), name[-_NUMBER_BYTES:]
    return f"row {int.from_bytes(number, 'big')} of {table}"


def stage_arrays(ledger: Ledger, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Stage `arrays` for the next commit; they replace all earlier arrays, also if `arrays` is empty."""
    ledger.erase(BEAM)
    if not arrays:
        return
    ledger.stage_record(
        BEAM, _DIRECTORY, {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    )
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for number, begin in enumerate(range(0, len(raw), _PIECE)):
            entry = f"{name}/".encode() + number_key(number)
            ledger.stage(BEAM, entry, seal(raw[begin : begin + _PIECE].tobytes(), entry))


def read_arrays(ledger: Ledger) -> dict[str, NDArray[Any]]:
    """Return the stored arrays by name; empty if nothing is stored. Raises `DamagedError`."""
    known = ledger.read_if_any(dict[str, tuple[str, list[int]]], BEAM, _DIRECTORY, "list of arrays") or {}
    with ledger.fitting("list of arrays"):
        return {name: _read(ledger, name, np.dtype(dtype), shape) for name, (dtype, shape) in known.items()}


def _read(ledger: Ledger, name: str, dtype: np.dtype[Any], shape: list[int]) -> NDArray[Any]:
    array = np.empty(shape, dtype=dtype)
    raw, prefix, filled = array.reshape(-1).view(np.uint8), f"{name}/".encode(), 0
    for entry in ledger.names(BEAM, prefix):
        piece = unseal(ledger.read(BEAM, entry) or b"", f"array {name}", entry)
        if filled + len(piece) > len(raw):
            break
        raw[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        filled += len(piece)
    if filled != len(raw):
        raise ledger.damaged(f"array {name} has {filled} bytes on disk, expected {len(raw)}")
    return array


#: Labels in an entry.
SLAB = 1 << 16
Labels = NDArray[np.uint32]
#: The number of configurations of a component that are 0, 1, 2, ... moves from its least one.
Profile = list[int]


@dataclass(frozen=True)
class DealFigures:
    """The figures of a deal: its positions, least moves to the goal (``None`` without one) and last layer."""

    positions: Count
    moves: Count | None
    depth: Count


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
    #: Set by an open run, as are those of `hakoiri.run.goals.Hardest`.
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
        store.stage(names.LABELS, name, seal(labels[begin : begin + SLAB].astype(">u4").tobytes(), name))


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
    what = f"profile of component {component}"
    found = store.read_if_any(dict[str, Profile], ROWS, number_key(component), what)
    return found["layers"] if found else None


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
    figures = {name: value for name, value in vars(record).items() if name not in ("pair_count", "representative")}
    return figures | {"pairs": record.pair_count}
