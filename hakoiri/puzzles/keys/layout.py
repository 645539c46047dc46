"""Packed configurations: unsigned integers of 32, 64, 128 or 256 bits, always in numpy batches.

A batch of n keys is an array of shape (n,) where a key is one numpy number. Where keys are wider, it is of shape (n, 2)
or (n, 4) and of uint64: the words of each key, the most significant first. So ``len(keys)``, slices, masks and
``np.concatenate`` work alike for all layouts; order and equality of wide keys are those of `puzzles.keys.order`.
"""

import builtins
from collections.abc import Iterable
from operator import index
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.errors import ConfigurationError

Key = int
Keys = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[np.uint16]
Mask = NDArray[np.bool_]
#: A configuration as users name it: its text, its key, or a row of a batch.
Configuration = str | SupportsIndex | Keys


class Layout(NamedTuple):
    """The form of keys in an array: `words` numbers of `dtype`, the most significant first. Runs pin the `name`."""

    name: str
    dtype: np.dtype[Any]
    words: int = 1

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize * self.words

    @property
    def bits(self) -> int:
        return 8 * self.bytes

    @property
    def greatest(self) -> Key:
        return (1 << self.bits) - 1

    @property
    def digits(self) -> int:
        """The length of a key as ``0x...`` with all its zeros."""
        return 2 + 2 * self.bytes

    def empty(self, count: int) -> Keys:
        """An uninitialised batch of `count` keys."""
        return np.empty(count if self.words == 1 else (count, self.words), dtype=self.dtype)

    def pack(self, values: Iterable[Key]) -> Keys:
        """`values` as a batch; ``OverflowError`` for one that is negative or too wide."""
        if self.words == 1:
            return np.array(list(values), dtype=self.dtype)
        size = self.bytes
        raw = b"".join([value.to_bytes(size, "big") for value in values])
        return np.frombuffer(raw, dtype=">u8").astype(self.dtype).reshape(-1, self.words)

    def holds(self, keys: Any) -> bool:
        """Return whether `keys` is a batch of this layout."""
        wanted = () if self.words == 1 else (self.words,)
        return isinstance(keys, np.ndarray) and keys.dtype == self.dtype and keys.ndim > 0 and keys.shape[1:] == wanted

    def big_endian(self, keys: Keys) -> "builtins.bytes":
        """The keys as `bytes` bytes each, the most significant first: their order as bytes is their order."""
        return keys.astype(self.dtype.newbyteorder(">")).tobytes()

    def from_big_endian(self, raw: "builtins.bytes | memoryview") -> Keys:
        """The inverse of `big_endian`; ``ValueError`` if the bytes are not a whole number of keys."""
        flat = np.frombuffer(raw, dtype=self.dtype.newbyteorder(">")).astype(self.dtype)
        return flat if self.words == 1 else flat.reshape(-1, self.words)


U32 = Layout("u32", np.dtype(np.uint32))
U64 = Layout("u64", np.dtype(np.uint64))
U128 = Layout("u128", np.dtype(np.uint64), 2)
U256 = Layout("u256", np.dtype(np.uint64), 4)
#: Key layouts by the name that a manifest pins.
LAYOUTS: dict[str, Layout] = {layout.name: layout for layout in (U32, U64, U128, U256)}
#: Not for keys of puzzles: the layout of pairs of the widest keys (`worker.graphs.forests`).
U512 = Layout("u512", np.dtype(np.uint64), 8)
#: The layouts of all batches that there are.
BATCHES: dict[str, Layout] = {**LAYOUTS, U512.name: U512}


def layout_of(keys: Keys) -> Layout:
    """Return the layout of a batch; ``KeyError`` for an array that is not a batch of keys."""
    for layout in BATCHES.values():
        if layout.holds(keys):
            return layout
    raise KeyError(f"{keys.dtype} of shape {keys.shape}")


def is_batch(array: NDArray[Any]) -> bool:
    """Return whether an array is a batch of keys of some layout."""
    return any(layout.holds(array) for layout in BATCHES.values())


def ints(keys: Keys) -> list[Key]:
    """The keys of a batch as Python's integers."""
    if keys.ndim == 1:
        values: list[Key] = keys.tolist()
        return values
    raw, size = keys.astype(">u8").tobytes(), 8 * keys.shape[1]
    return [int.from_bytes(raw[begin : begin + size], "big") for begin in range(0, len(raw), size)]


def key_at(keys: Keys, index: int) -> Key:
    """One key of a batch as Python's integer."""
    return int(keys[index]) if keys.ndim == 1 else int.from_bytes(keys[index].astype(">u8").tobytes(), "big")


def as_text(configuration: Configuration, layouts: Iterable[Layout] = tuple(LAYOUTS.values())) -> str:
    """A text as it is; an integer, of Python or numpy, and a row of a batch of wide keys as ``0x...``.

    Raises `ConfigurationError` for anything else.
    """
    if isinstance(configuration, str):
        return configuration
    if isinstance(configuration, np.ndarray) and any(layout.holds(configuration[None]) for layout in layouts):
        return f"{key_at(configuration[None], 0):#x}"
    try:
        key = index(configuration)
    except TypeError:
        raise ConfigurationError(
            f"{configuration!r} is not a configuration; expected a text, a key, or one row of a layer"
        ) from None
    if key < 0:
        raise ConfigurationError(f"key {key} is below 0")
    return f"{key:#x}"


def as_line(text: str) -> str:
    """A text of several lines as one: its rows without blanks around them, joined by ``/``."""
    rows = [row for line in text.splitlines() if (row := line.strip())]
    return "/".join([*(row.removesuffix("/") for row in rows[:-1]), *rows[-1:]])


def narrowest(bits: int) -> Layout:
    """The narrowest layout with at least this many bits; ``ValueError`` above 256."""
    for layout in LAYOUTS.values():
        if bits <= layout.bits:
            return layout
    raise ValueError(f"{bits} bits exceed the limit of {U256.bits} for a key")
