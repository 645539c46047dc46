"""Rows and arrays of runs that find one result after another; durable with the commit that follows their staging.

``rows``             record per row, named by its table (a text), ``/`` and its number, 4 bytes big-endian
``beam``/``arrays``  record: for each array its dtype and shape
``beam``             entry per megabyte of an array, named by its name, ``/`` and a number, 4 bytes big-endian: CRC-32,
                     then the bytes. The arrays hold the state of a search, from which another process can continue,
                     or the bounds proved for the eccentricities of a component
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from hakoiri.storage.errors import DamagedError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.records import seal, typed, unseal
from hakoiri.storage.names import BEAM, ROWS, number_key

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
    if ledger.read(BEAM, _DIRECTORY) is None:
        return {}
    known = ledger.read_as(dict[str, tuple[str, list[int]]], BEAM, _DIRECTORY, "list of arrays")
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
