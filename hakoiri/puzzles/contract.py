"""The interface of a puzzle. A search needs nothing else, and a puzzle does not depend on search.

The minimum that a user puzzle needs: `name`, `layout`, `undirected`, `most_successors`, `usual_start` and `successors`.
All else has a default, or makes more questions answerable (`render`, `parse_text`, `is_goal`) or the search faster
(`expand`).
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError, Hint, PuzzleError, WorkStopped, did_you_mean
from hakoiri.keys.layout import (
    Configuration,
    Counts,
    Fields,
    Key,
    Keys,
    Layout,
    Mask,
    as_text,
    ints,
    narrowest,
)
from hakoiri.keys.order import equal_rows, less_than, lesser
from hakoiri.puzzles.options import Option
from hakoiri.puzzles.pictures import Picture, text_pictures
from hakoiri.puzzles.texts import one_line

#: One number per key: keys with equal numbers are equivalent.
Orbits = NDArray[np.int64]
#: Returns a mask of the keys that match.
Matching = Callable[[Keys], Mask]
#: The most keys in a block of `Numbered.configurations`.
_BLOCK = 1 << 20
#: The result of a kernel if the successors of its keys exceed the room that it is given.
OVERFLOW = -1


def _words(text: str) -> list[str]:
    """Return the numbers and other marks of a text in their usual spelling."""
    return [f"{int(word)}" if word.isdecimal() else word for word in re.findall(r"\d+|[^\s\d,]", text.casefold())]


class Expansion(NamedTuple):
    """The successors of a batch: those of its first key, then of its second, and so on.

    Both are new arrays, the caller's to work on. `successors` may hold duplicates; `counts[i]` of them belong to key
    `i`, so ``counts.sum() == len(successors)``.
    """

    successors: Keys
    counts: Counts


class BitKernel(NamedTuple):
    """A kernel that sets the successors of configurations in a bitmap, without their keys.

    `write` takes words of 64 configurations, the key of their first bit, and a bitmap of all configurations, in which
    it sets the successors of the bits. Key and words begin and end with a block of so many configurations.

    If it `flows`, `write` returns the sum over the moves of the successor's block, its number plus 1 mixed
    (`hakoiri.keys.splitmix.mix`), less the configuration's, modulo 2**64. Hosts use no other kernel. The puzzle must be
    `paired`. Each configuration must have a move to another block, or the loss of one would go unseen. If it is
    given, `mark` does the same without the sum, in less time.
    """

    write: Callable[[NDArray[np.uint64], Key, NDArray[np.uint64]], int | None]
    block: int = 64
    flows: bool = False
    mark: Callable[[NDArray[np.uint64], Key, NDArray[np.uint64]], object] | None = None


class Ranking(NamedTuple):
    """Numbers 0 to `size` - 1 of all configurations in the order of their keys, where keys have gaps.

    `of` returns the numbers of keys in any order, all ones for what is no configuration, and `keys` the keys of
    numbers. The kernel takes bitmaps of numbers.
    """

    size: int
    of: Callable[[Keys], NDArray[np.uint64]]
    keys: Callable[[NDArray[np.uint64]], Keys]
    spread: BitKernel | None = None


class Puzzle(ABC):
    """A state space: packed keys, moves, goals, and text in and out.

    Keys come and go as batches of `layout` (`hakoiri.keys.layout`). An instance is immutable and safe to share between
    threads. Increase `version` whenever keys, moves or goals change: a run made with another version is refused.

    If the configurations have a good numbering (0, 1, 2, ... without many gaps), use it for the keys. Dense keys take a
    byte each on disk, and the search finds their duplicates in bitmaps instead of by sorting.
    """

    #: The name on the command line.
    name: str
    version: int = 1
    #: A description in one line, and the usual goal in words.
    summary: str = ""
    goal_summary: str = ""
    options: Mapping[str, Option] = MappingProxyType({})
    layout: Layout
    #: The fields of a key, if it consists of such; for `are_keys`.
    fields: Fields | None = None
    #: Every move can be taken back: the three-layer window of the search is right only then.
    undirected: bool
    #: As many moves lead from one configuration to another as back. Otherwise equal moves are counted once where all
    #: moves of a run must balance (`worker.layers.kernels`), which takes longer.
    paired: bool = False
    #: No configuration has more successors than this; memory is planned with it.
    most_successors: int
    #: The number of configurations reachable from a start, if the puzzle knows it.
    total: int | None = None
    #: All starts of a search that has several (`hakoiri.puzzles.starts.Starts`), else ``None``.
    several_starts: Any = None
    #: All keys are below this, and most numbers below it are keys; ``None`` if keys are sparse.
    numbers: int | None = None
    #: Numbers for tables: of all configurations, and of all classes of mirror images. Without them keys are numbers.
    ranking: Ranking | None = None
    class_ranking: Ranking | None = None
    #: The same puzzle with each image as a configuration of its own, if this one merges images.
    unmerged: "Puzzle | None" = None
    #: The start decides which puzzle it is (its pieces), so the whole space needs it too.
    start_is_board: bool = False
    #: How the start was read, where that is not plain: told to whoever types it (`PuzzleSpec.build`).
    start_notes: tuple[str, ...] = ()
    #: The option that such a note leaves to the user, if any: a terminal asks for it.
    asks_for: str = ""
    #: The kind of run if the user names none.
    usual_kind: str = "explore"
    #: Its configurations are partial, on a tree: its solutions are counted, and it has no positions and no moves back.
    is_tree: bool = False
    #: How `describe_move` writes moves, so that keys of a terminal can make them: ``arrows`` for a piece of one letter
    #: and directions, or directions alone; ``pegs`` for a disc and a peg; ``turns`` for a face, perhaps with ' or 2.
    notation: str = ""
    #: What option ``--from`` takes besides a configuration, in the words of notes: ``DEAL`` or ``BOARD``.
    start_word: str = ""
    #: Functions as text (`hakoiri.loading`). The first returns what an exhausted search from one start concludes, from
    #: its store, puzzle and budget: `row` has fields of its summary, `counts` what a verification counts. The second
    #: draws a start that has no key, and returns whether the text is one.
    conclusion: str = ""
    draws_start: str = ""
    #: The third takes the puzzle and a text, raises `ConfigurationError` unless that is a start, and returns a function
    #: that finds the figures of the start without layers on disk: certificates compare them with those of a run.
    figures_apart: str = ""
    #: A process must first meet the states that lead to a key, and keeps them: workers would all walk the same way.
    remembers: bool = False
    #: Symmetries of the moves take every configuration to every other, so all eccentricities are the same.
    vertex_transitive: bool = False

    def __init__(self, options: Mapping[str, str] | None = None, start: str | None = None) -> None:
        """`options` are completed by their defaults; `start` is a text or key that replaces the usual start.

        Raises `PuzzleError` for an option or value that the puzzle does not have.
        """
        #: The value of each option: of a `Number` a whole number, of others a text.
        self.parameters: dict[str, Any] = {name: option.check(option.default) for name, option in self.options.items()}
        for name, value in (options or {}).items():
            if name not in self.options:
                # `puzzles.goals` takes a goal from the user, whatever the options.
                known = dict.fromkeys([*self.options, "goal"])
                raise PuzzleError(
                    f"{self.name} has no option {name!r}{did_you_mean(name, known)}; its options: {', '.join(known)}"
                )
            try:
                self.parameters[name] = self.options[name].check(value)
            except PuzzleError as error:
                raise PuzzleError(f"{self.name} option {name}={value}: {error}") from None
        #: The options that were given, not completed by default.
        self.given_options = frozenset(options or ())
        start = None if start is None else one_line(start)
        self.prepare(start)
        #: The configuration that a search starts from.
        self.start: Key = self.parse(start) if start is not None else self.usual_start()

    def option_texts(self) -> dict[str, str]:
        """Return the parameters as texts, as a run pins them."""
        return {name: str(value) for name, value in self.parameters.items()}

    def prepare(self, start: str | None) -> None:  # noqa: B027  (nothing to set up is common)
        """Set up tables, and attributes that depend on options (`layout`, ...). Called once `parameters` are complete.

        Raise `PuzzleError` for options that cannot be combined. `start` is the user's text, or ``None``.
        """

    @property
    def has_kernel(self) -> bool:
        """True if `expand` does not call `successors`, so that the two can differ."""
        return type(self).expand is not Puzzle.expand

    @property
    def spread(self) -> BitKernel | None:
        """A kernel that expands bits of a bitmap, where keys are 0 to `numbers` - 1; by default ``None``."""
        return None

    #: The key of the one goal, to be set in the class that defines `is_goal`: then layers in bitmaps are not listed.
    only_goal: Key | None = None

    @property
    def has_mirrors(self) -> bool:
        """True if `canonical` is defined. By default where there are `mirrors`; an attribute will do."""
        return bool(self.mirrors())

    @property
    def has_goal(self) -> bool:
        """Return whether a goal is set."""
        return type(self).is_goal is not Puzzle.is_goal

    def start_text(self) -> str:
        """The start as a run pins and shows it: a text that `parse` reads as the start."""
        return self.render(self.start)

    def keys(self, values: list[Key]) -> Keys:
        """`values` as a batch of this puzzle's layout."""
        return self.layout.pack(values)

    @abstractmethod
    def usual_start(self) -> Key:
        """Return the start that is used unless the user names one."""

    @abstractmethod
    def successors(self, key: Key) -> list[Key]:
        """Return the successors of a key in plain Python, written to be obviously right: the reference for `expand`."""

    def expand(self, keys: Keys) -> Expansion:
        """Return all successors of a batch. The fast path: override it with a kernel that releases the GIL.

        By default it calls `successors` for each key: some ten thousand configurations a second.
        """
        found = [self.successors(key) for key in ints(keys)]
        counts = np.array([len(successors) for successors in found], dtype=np.uint16)
        return Expansion(self.keys([key for successors in found for key in successors]), counts)

    def batches(self, keys: list[Key]) -> list[list[Key]]:
        """Return keys in groups that `expand` takes together, by default all."""
        return [keys]

    def expansion(self, keys: Keys, most: int, write: Callable[[Keys, Counts], int], spare: int = 0) -> Expansion:
        """Return what a kernel writes into room for `most` successors of each key; it returns their total.

        Raises `PuzzleError` if it returns `OVERFLOW` instead.
        """
        room, counts = self.layout.empty(len(keys) * most + spare), np.empty(len(keys), dtype=np.uint16)
        if (total := write(room, counts)) == OVERFLOW:
            raise PuzzleError(f"{self.name}: a configuration has more than {most} successors")
        return Expansion(room[:total], counts)

    def are_keys(self, keys: Keys) -> Mask:
        """Return for each key whether kernels may take it; false only for keys that are not configurations.

        Called once for all keys that this process has not made: those of a run, a worker or another host. A key for
        which a kernel reads or writes outside its arrays must be refused, others need not be. By default keys are as
        the `fields` say; without any, all are accepted.
        """
        return np.ones(len(keys), dtype=np.bool_) if self.fields is None else self.fields.hold(keys)

    def are_starts(self, keys: Keys) -> Mask:
        """Return for each key whether a search starts from it."""
        several = self.several_starts
        return equal_rows(keys, self.keys([self.start])) if several is None else several.hold(keys)

    def is_goal(self, keys: Keys) -> Mask:
        """Return one truth value per key. By default no configuration is a goal."""
        return np.zeros(len(keys), dtype=np.bool_)

    def goal_text(self) -> str:
        """Return the goal in words: that of the user as its text; empty if the puzzle does not describe its own."""
        return str(self.parameters.get("goal") or self.goal_summary)

    def remark_on(self, text: str) -> None:  # noqa: B027  (most texts have one meaning)
        """Remark on a goal or configuration that its user may have meant otherwise (`hakoiri.errors.remark`)."""

    def match(self, pattern: str) -> Matching | None:
        """Return a function that matches configurations whose text is like `pattern`, in which ``?`` is anything.

        With ``None``, the default, the text of each configuration is compared, some ten thousand a second.
        """
        return None

    def configurations(self) -> Iterator[Keys]:
        """Yield every configuration, as blocks that are strictly increasing within and between blocks."""
        raise PuzzleError(f"{self.name} cannot list its whole space", Hint("leave out", "whole"))

    @property
    def lists_all(self) -> bool:
        """True if `configurations` lists the whole space."""
        return type(self).configurations is not Puzzle.configurations

    def check_key(self, key: Key) -> None:
        """Return if `key` is a configuration; else raise `ConfigurationError` that says what is wrong with it.

        By default the text of the key must lead back to it, where `parse_text` reads texts.
        """
        try:
            text = self.render(key)
            readable = type(self).parse_text is not Puzzle.parse_text
            back = self.parse_text(text) if readable and text != f"{key:#x}" else key
        except (MemoryError, WorkStopped):
            raise
        except Exception as error:
            raise ConfigurationError(f"{key:#x} is not a configuration of {self.name}: {error}") from error
        if back != key:
            raise ConfigurationError(
                f"{key:#x} is not a configuration of {self.name}: its text {text!r} means {back:#x}"
            )

    def parse_text(self, text: str) -> Key:
        """The key of a text; `ConfigurationError` names the row or piece that is wrong. By default only 0x... keys."""
        raise ConfigurationError(f"{text!r} is not a configuration of {self.name}; expected a key as 0x...")

    def same_text(self, text: str, written: str) -> bool:
        """Return whether `text` is another spelling of what `render` has `written`; else a user puzzle refuses it.

        By default they may differ in case, blanks, commas and leading zeros.
        """
        return _words(text) == _words(written)

    def render(self, key: Key) -> str:
        """The canonical text of a key, rows joined by ``/``. By default the key itself."""
        return f"{key:#x}"

    def drawing(self, key: Key) -> str:
        """The configuration in lines of text, where a terminal shows these and not its picture."""
        return ""

    def faults(self, key: Key) -> list[str]:
        """Return the reasons known why a configuration of a tree leads to no solution, a sentence for each."""
        return []

    def describe_move(self, before: Key, after: Key) -> str:
        """Return a move in words, e.g. ``"E down"``; letters are those of ``render(before)``. By default the target."""
        return f"to {self.render(after)}"

    def describe_moves(self, path: list[Key]) -> list[str]:
        """Return the moves of a path in words. For puzzles whose words for a move depend on those before it."""
        return [self.describe_move(before, after) for before, after in pairwise(path)]

    def render_path(self, path: list[Key]) -> list[str]:
        """Return the texts of a path. For puzzles whose pieces keep a letter that `render` assigns anew."""
        return [self.render(key) for key in path]

    def pictures(self, path: list[Key]) -> list[Picture]:
        """Return the pictures of the configurations of a path; a part keeps its name (`puzzles.pictures`).

        By default the texts, cell by cell.
        """
        return text_pictures(self.render_path(path), self.render(self.start))

    def picture(self, key: Key) -> Picture:
        """Return the picture of one configuration."""
        return self.pictures([key])[0]

    def alike(self, key: Key) -> Mapping[str, int]:
        """Return equal numbers for interchangeable parts of a configuration's picture, by name.

        By default none: every part is unique. With kinds, names are valid for one board only.
        """
        return {}

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """Return maps of keys to mirror images, by the symmetries of the moves that `merge_mirrors` takes as one.

        By default of `canonical` and `orbit_sizes`, these are a whole group without the identity; where both are
        overridden, generators will do. If they keep the start, layers of classes are layers of the whole space. If not,
        they are layers by the distance to the nearest image of the start. `conformance.rules.check_map` checks one.
        """
        return ()

    def canonical(self, keys: Keys) -> Keys:
        """The key that names the class of each key's mirror images: the least, unless overridden. A goal if one is."""
        if not (maps := self.mirrors()):
            raise PuzzleError(f"{self.name} has no mirror images to merge", Hint("leave out", "merge_mirrors"))
        return reduce(lesser, (each(keys) for each in maps), keys)

    def orbit_sizes(self, keys: Keys) -> NDArray[np.int64] | None:
        """Return the number of mirror images of each key, itself included; ``None`` if the puzzle does not know it."""
        same = [np.asarray(equal_rows(each(keys), keys), dtype=np.int64) for each in self.mirrors()]
        return (len(same) + 1) // sum(same, np.ones(len(keys), dtype=np.int64)) if same else None

    def tally(self, keys: Keys) -> tuple[int, int]:
        """Return the number of goals among keys, and of the configurations that they represent; 0 for themselves."""
        return int(np.count_nonzero(self.is_goal(keys))), 0

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """Return maps of keys by symmetries of the moves, which generate all known ones.

        Bounds from a search of a configuration also hold for its images. The maps are checked on every graph in memory.
        """
        return ()

    def orbits(self, keys: Keys) -> Orbits | None:
        """Return a number per key: keys with equal numbers are alike by a symmetry of the moves; ``None`` if unknown.

        Equivalent configurations have the same eccentricity, so one search for each number gives the exact diameter.
        """
        return np.zeros(len(keys), dtype=np.int64) if self.vertex_transitive else None

    def parse(self, configuration: Configuration) -> Key:
        """Return the key of a text, of a key (``0x...`` or a number), or of a row of a batch.

        Raises `ConfigurationError` if it is not a configuration.
        """
        text = one_line(as_text(configuration, [self.layout]))
        if not text.lower().startswith("0x"):
            return self.parse_text(text)
        try:
            key = int(text, 16)
        except ValueError:
            raise ConfigurationError(f"{text!r} is not a key: 0x must be followed by hexadecimal digits") from None
        if key > self.layout.greatest:
            raise ConfigurationError(f"{text} is not a key of {self.name}: it has more than {self.layout.bits} bits")
        self.check_key(key)
        return key


def numbers_of(puzzle: Puzzle) -> int:
    """Return the numbers of a table of all configurations; 0 if the puzzle has no numbers."""
    return puzzle.ranking.size if puzzle.ranking is not None else puzzle.numbers or 0


def spread_of(puzzle: Puzzle) -> BitKernel | None:
    """Return the kernel of a puzzle for bitmaps, unless a subclass, or its user, has changed the moves since."""
    for kind in type(puzzle).__mro__:
        if "spread" in vars(kind):
            # IMPORTANT: not before, because `vars` makes a dictionary of the attributes, and rules in plain Python then
            # read these more slowly.
            return None if "expand" in vars(puzzle) else puzzle.spread
        if {"expand", "successors"} & vars(kind).keys():
            return None
    return None


def goal_of(puzzle: Puzzle) -> Key | None:
    """Return the one goal of a puzzle, unless a subclass, or its user, has changed the goals or their tally since."""
    changing = {"is_goal", "tally"}
    for kind in type(puzzle).__mro__:
        if "only_goal" in vars(kind):
            return None if changing & vars(puzzle).keys() else puzzle.only_goal
        if changing & vars(kind).keys():
            return None
    return None


def of_base(name: str) -> Any:
    """Return a method that calls the method `name` of the puzzle's `base`."""
    return lambda puzzle, *given: getattr(puzzle.base, name)(*given)


class Numbered(Puzzle):
    """A puzzle whose keys are 0 to `size` - 1 without a gap; 0 is the usual start and the one goal."""

    size: int

    def number(self, size: int) -> None:
        """Set the number of configurations; to be called by `prepare`."""
        self.size = self.total = self.numbers = size
        self.layout = narrowest((size - 1).bit_length())

    def coset_sizes(self) -> list[int]:
        """Return the sizes, the greatest first, of blocks of numbers that every move leads to one block: cosets."""
        return []

    def usual_start(self) -> Key:
        return 0

    def are_keys(self, keys: Keys) -> Mask:
        return ~less_than(self.keys([self.size - 1]), keys)

    only_goal = 0

    def is_goal(self, keys: Keys) -> Mask:
        return np.asarray(keys == 0)

    def goal_text(self) -> str:
        return super().goal_text() or self.render(0)

    def configurations(self) -> Iterator[Keys]:
        for begin in range(0, self.size, _BLOCK):
            yield np.arange(begin, min(begin + _BLOCK, self.size), dtype=self.layout.dtype)

    def check_key(self, key: Key) -> None:
        if not 0 <= key < self.size:
            raise ConfigurationError(f"{key:#x} is not a key of {self.name}; expected 0x0 to {self.size - 1:#x}")


class Symmetric(Numbered):
    """A numbered puzzle with a group of symmetries, 0 the identity: those that keep the start make mirror images."""

    @property
    @abstractmethod
    def symmetries(self) -> int:
        """The number of symmetries."""

    @abstractmethod
    def least_images(self, keys: Keys, numbers: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
        """Return the least image of each key by the symmetries of these numbers, and how many of them lead to it."""

    @cached_property
    def _keeping(self) -> NDArray[np.int64]:
        """The numbers of the symmetries that keep the start."""
        start, every = self.keys([self.start]), np.arange(self.symmetries)
        return every[[self.least_images(start, each)[0][0] == start[0] for each in every[:, None]]]

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        return [partial(self._image, number) for number in self._keeping[1:]]

    def _image(self, number: int, keys: Keys) -> Keys:
        return self.least_images(keys, np.array([number]))[0]

    def canonical(self, keys: Keys) -> Keys:
        return self.least_images(keys, self._keeping)[0]

    def orbit_sizes(self, keys: Keys) -> NDArray[np.int64]:
        # The symmetries that lead to one image are as many as keep the key.
        return len(self._keeping) // self.least_images(keys, self._keeping)[1]
