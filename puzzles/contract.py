"""What a puzzle must say of itself. A search needs nothing else, and a puzzle knows nothing of search."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from puzzles.errors import ConfigurationError, PuzzleError
from puzzles.keys import Counts, Key, Keys, Mask


class Expansion(NamedTuple):
    """The successors of a batch: those of its first key, then of its second, and so on.

    `successors` may hold duplicates; `counts[i]` of them belong to key `i`, so ``counts.sum() == len(successors)``.
    """

    successors: Keys
    counts: Counts


class Puzzle(ABC):
    """A state space: packed keys, moves, goals, and text in and out.

    Keys come and go as one-dimensional numpy arrays of `dtype`. An instance is immutable and safe to share between
    threads. Increase `version` whenever keys, moves or goals change: a run made with another version is refused.
    """

    #: The name on the command line.
    name: str
    version: int
    #: Option name -> allowed values, the default first.
    options: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    dtype: np.dtype[Any]
    #: Every move can be taken back: the three-layer window of the search is right only then.
    undirected: bool
    #: No configuration has more successors than this; memory is planned with it.
    most_successors: int
    #: `canonical` knows a symmetry that keeps moves and goals.
    has_mirrors: bool = False

    def __init__(self, options: Mapping[str, str] | None = None, start: str | None = None) -> None:
        """`options` are completed by their defaults; `start` is a text or key that replaces the usual start.

        Raises `PuzzleError` for an option or value that the puzzle does not have.
        """
        self.parameters: dict[str, str] = {name: values[0] for name, values in self.options.items()}
        for name, value in (options or {}).items():
            self._check_option(name, value)
            self.parameters[name] = value
        self._start = self.parse(start) if start is not None else self.usual_start()

    def _check_option(self, name: str, value: str) -> None:
        if name not in self.options:
            known = ", ".join(self.options) or "none"
            raise PuzzleError(f"{self.name} has no option {name!r}; its options: {known}")
        if value not in self.options[name]:
            raise PuzzleError(f"{self.name} option {name}={value}: allowed are {', '.join(self.options[name])}")

    @property
    def start(self) -> Key:
        """The configuration that a search sets out from."""
        return self._start

    def keys(self, values: list[Key]) -> Keys:
        """`values` as a batch of this puzzle's dtype."""
        return np.array(values, dtype=self.dtype)

    @abstractmethod
    def usual_start(self) -> Key:
        """The start when the user names none."""

    @abstractmethod
    def is_goal(self, keys: Keys) -> Mask:
        """One truth value per key."""

    @abstractmethod
    def expand(self, keys: Keys) -> Expansion:
        """All successors of a batch; releases the GIL. The fast path."""

    @abstractmethod
    def successors(self, key: Key) -> list[Key]:
        """The successors of one key in plain Python, written to be obviously right: the reference for `expand`."""

    @abstractmethod
    def configurations(self) -> Iterator[Keys]:
        """Every configuration there is, as blocks that are strictly increasing within and between blocks."""

    @abstractmethod
    def check_key(self, key: Key) -> None:
        """Return if `key` is a configuration; else raise `ConfigurationError` that says what is wrong with it."""

    @abstractmethod
    def parse_text(self, text: str) -> Key:
        """The key of a text; `ConfigurationError` names the row or piece that is wrong."""

    @abstractmethod
    def render(self, key: Key) -> str:
        """The canonical text of a key: board rows joined by ``/``."""

    @abstractmethod
    def describe_move(self, before: Key, after: Key) -> str:
        """One move for people, e.g. ``"E down"``; letters are those of ``render(before)``."""

    def canonical(self, keys: Keys) -> Keys:
        """The least key among each key's mirror images. Only where `has_mirrors`."""
        raise PuzzleError(f"{self.name} has no mirror images to merge; leave out --merge-mirrors")

    def parse(self, text: str) -> Key:
        """The key of a text or of a ``0x...`` key; `ConfigurationError` if it is no configuration."""
        text = text.strip()
        if not text.lower().startswith("0x"):
            return self.parse_text(text)
        try:
            key = int(text, 16)
        except ValueError:
            raise ConfigurationError(f"{text!r} is not a key: 0x must be followed by hexadecimal digits") from None
        if key >> (8 * self.dtype.itemsize):
            raise ConfigurationError(
                f"{text} is no key of {self.name}: it has more than {8 * self.dtype.itemsize} bits"
            )
        self.check_key(key)
        return key
