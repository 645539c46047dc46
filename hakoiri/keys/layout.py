"""Packed configurations: unsigned integers of 32 to 2,560 bits, always in numpy batches.

A batch of n keys is an array of shape (n,) where a key is one numpy number. Where keys are wider, it is of shape
(n, words) and of uint64: the words of each key, the most significant first. So ``len(keys)``, slices, masks and
``np.concatenate`` work alike for all layouts; order and equality of wide keys are those of `hakoiri.keys.order`.

Keys that are packed from fields of bits, each a number below a limit: which keys have all fields below theirs.

Fields are compared all at once. To each field is added what takes its limit to the next power of two; a field that
reaches its limit carries a bit out of its place (Warren, "Hacker's Delight", on detecting overflow).

Numbers on points as one key: five bits per point, 0 for none, point 0 first.

A word of 64 bits holds twelve whole fields, so that keys sort as their numbers do, point by point.
Up to 12 points take a u64, up to 24 a u128, up to 30 a u256 (whose first words are 0).
"""

import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError

Key = int
Keys = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[np.uint16]
Mask = NDArray[np.bool_]
#: A configuration as users name it: its text, its key, or a row of a batch.
Configuration = str | SupportsIndex | Keys | Sequence[int]


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

    def text(self, key: Key) -> str:
        """Return a key as people write it."""
        return f"{key:#0{self.digits}x}"

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
#: Words of keys that are wider. Pairs of keys (`worker.census.forests`) have twice as many.
_WORDS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40)
_WIDE = {words: Layout(f"u{64 * words}", np.dtype(np.uint64), words) for each in _WORDS for words in (each, 2 * each)}
U64, U128, U256, U512, U1024, U2048 = (_WIDE[words] for words in (1, 2, 4, 8, 16, 32))
#: Key layouts by the name that a manifest pins, and those of all batches.
LAYOUTS: dict[str, Layout] = {layout.name: layout for layout in (U32, *(_WIDE[words] for words in _WORDS))}
BATCHES: dict[str, Layout] = {layout.name: layout for layout in (U32, *_WIDE.values())}
#: The layout of pairs of keys, by that of the keys.
PAIR_LAYOUTS: dict[Layout, Layout] = {U32: U64, **{_WIDE[words]: _WIDE[2 * words] for words in _WORDS}}
_BY_FORM = {(layout.dtype, () if layout.words == 1 else (layout.words,)): layout for layout in BATCHES.values()}


def layout_of(keys: Keys) -> Layout:
    """Return the layout of a batch; ``KeyError`` for an array that is not a batch of keys."""
    if not is_batch(keys):
        raise KeyError(f"{keys.dtype} of shape {keys.shape}")
    return _BY_FORM[keys.dtype, keys.shape[1:]]


def is_batch(array: NDArray[Any]) -> bool:
    """Return whether an array is a batch of keys of some layout."""
    return array.ndim > 0 and (array.dtype, array.shape[1:]) in _BY_FORM


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

    A list of whole numbers as these, separated by blanks.

    Raises `ConfigurationError` for anything else.
    """
    if isinstance(configuration, str):
        return configuration
    if isinstance(configuration, np.ndarray) and any(layout.holds(configuration[None]) for layout in layouts):
        return f"{key_at(configuration[None], 0):#x}"
    try:
        row: Any = configuration
        if isinstance(configuration, np.ndarray) and configuration.ndim == 1 and configuration.dtype.kind == "i":
            row = configuration.tolist()  # Unsigned arrays are keys.
        if isinstance(row, Sequence):
            return " ".join(map(str, map(index, row)))
        key = index(row)
    except TypeError:
        raise ConfigurationError(
            f"{configuration!r} is not a configuration; expected a text, a key, a row of a layer, or a list of numbers"
        ) from None
    if key < 0:
        raise ConfigurationError(f"key {key} is below 0")
    return f"{key:#x}"


def as_line(text: str) -> str:
    """A text of several lines as one: its rows without blanks around them, joined by ``/``."""
    rows = [row for line in text.splitlines() if (row := line.strip())]
    return "/".join([*(row.removesuffix("/") for row in rows[:-1]), *rows[-1:]])


def narrowest(bits: int) -> Layout:
    """The narrowest layout of a power of two with at least this many bits; ``ValueError`` above 2048."""
    for layout in LAYOUTS.values():
        if bits <= layout.bits == 1 << layout.bits.bit_length() - 1:
            return layout
    raise ValueError(f"{bits} bits exceed the limit of {U2048.bits} for a key")


_WORD_BITS = 64
_Words = NDArray[np.uint64]


class Field(NamedTuple):
    """Bits `shift` to ``shift + width - 1`` of a key, within one of its words; they hold a number below `limit`."""

    shift: int
    width: int
    limit: int


class Fields(NamedTuple):
    """For each word of a key, the most significant first: bits in no field, what is added, the top bit of each field.

    A field without a number that is too large has nothing added.
    """

    others: _Words
    added: _Words
    tops: _Words

    @classmethod
    def of(cls, layout: Layout, fields: Iterable[Field]) -> Self:
        words = [[(1 << _WORD_BITS) - 1, 0, 0] for _ in range(layout.words)]
        for shift, width, limit in fields:
            word, place = words[layout.words - 1 - shift // _WORD_BITS], shift % _WORD_BITS
            word[0] ^= (1 << width) - 1 << place
            word[1] |= (1 << width) - limit << place
            word[2] |= 1 << place + width - 1
        return cls(*np.array(words, dtype=np.uint64).T.copy())

    def hold(self, keys: Keys) -> Mask:
        """Return for each key whether every field is below its limit, and no other bit is set."""
        found = np.empty(len(keys), dtype=np.bool_)
        _hold(keys, *self, found)
        return found


@jit
def _wrong(key: np.uint64, others: np.uint64, added: np.uint64, tops: np.uint64) -> np.uint64:
    """Return a word with bits set if one of a key has a field that is too large; the lowest such field sets its top."""
    carried = key & added | (key | added) & ~(key + added)
    return np.uint64(key & others | carried & tops)


@jit
def _hold(keys: Keys, others: _Words, added: _Words, tops: _Words, found: Mask) -> None:
    if keys.ndim == 1:
        # Out of the loop, so that it is vectorised.
        first, second, third = others[0], added[0], tops[0]
        for index in range(len(keys)):
            found[index] = _wrong(np.uint64(keys[index]), first, second, third) == np.uint64(0)
        return
    for index in range(len(keys)):
        wrong = np.uint64(0)
        for word in range(keys.shape[1]):
            wrong |= _wrong(keys[index, word], others[word], added[word], tops[word])
        found[index] = wrong == np.uint64(0)


#: Rows of numbers by point, shape (placings, points), uint8; 0 where no number stands.
Placings = NDArray[np.uint8]

_BITS, _MASK, _PER_WORD = 5, 31, 12
#: As many points as five bits have numbers for, with 0 for none; an even number, for stars.
MOST_POINTS = 30


@dataclass(frozen=True)
class Numbering:
    """The packing for a figure of `points` points."""

    points: int

    @cached_property
    def layout(self) -> Layout:
        """The narrowest keys that hold it."""
        return narrowest(-(-self.points // _PER_WORD) * _WORD_BITS)

    @cached_property
    def fields(self) -> Fields:
        """A field for each point, whose number is at most that of the points."""
        return Fields.of(self.layout, (Field(place, _BITS, self.points + 1) for place in self._places))

    def pack(self, placings: Placings) -> Keys:
        layout = self.layout
        words = np.zeros((len(placings), layout.words), dtype=np.uint64)
        for point in range(self.points):
            word, shift = divmod(self._places[point], _WORD_BITS)
            words[:, -1 - word] |= placings[:, point].astype(np.uint64) << np.uint64(shift)
        return words[:, 0].copy() if layout.words == 1 else words

    def unpack(self, keys: Keys) -> Placings:
        words = keys.reshape(len(keys), self.layout.words)
        placings = np.empty((len(keys), self.points), dtype=np.uint8)
        for point in range(self.points):
            word, shift = divmod(self._places[point], _WORD_BITS)
            placings[:, point] = (words[:, -1 - word] >> np.uint64(shift)) & np.uint64(_MASK)
        return placings

    def key_of(self, numbers: list[int]) -> Key:
        key = 0
        for point, number in enumerate(numbers):
            key |= number << self._places[point]
        return key

    def numbers_of(self, key: Key) -> list[int]:
        """The inverse of `key_of`; `ConfigurationError` for a key with other bits."""
        numbers = [key >> place & _MASK for place in self._places]
        if self.key_of(numbers) != key:
            raise ConfigurationError(f"{key:#x} has bits above those of its points")
        return numbers

    @cached_property
    def _places(self) -> list[int]:
        """By point, the lowest bit of its field in the key."""
        last = (self.points - 1) // _PER_WORD
        places = (divmod(point, _PER_WORD) for point in range(self.points))
        return [_WORD_BITS * (last - word) + _BITS * (_PER_WORD - 1 - place) for word, place in places]
