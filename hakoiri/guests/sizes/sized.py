"""Puzzles whose options set their size."""

from typing import Any, ClassVar, NamedTuple

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import Number


class SizedMember(NamedTuple):
    """One of the puzzles of a size: its options, and its place in a `series` of similar ones (empty: the only one)."""

    options: dict[str, str]
    place: int
    series: str = ""


class Sized(Puzzle):
    """A puzzle whose options set its size: tables go through the sizes.

    Built-in puzzles have the attributes without this base: a class with `size_options` has sizes.
    """

    #: The options that `members` sets.
    size_options: ClassVar[tuple[str, ...]] = ("n",)

    @classmethod
    def members(cls, size: int) -> list[SizedMember]:
        """Return the puzzles of a size, perhaps none. By default that of the single size option."""
        return _of_one_option(cls, size)


def _of_one_option(kind: type[Any], size: int) -> list[SizedMember]:
    (option,) = kind.size_options
    allowed = kind.options[option]
    if isinstance(allowed, Number) and allowed.least <= size <= allowed.most:
        return [SizedMember({option: str(size)}, size)]
    return []


def members_of(kind: type[Any], size: int) -> list[SizedMember]:
    """Return the puzzles of a size of a class with `size_options`."""
    if hasattr(kind, "members"):
        return [SizedMember(*each) for each in kind.members(size)]
    return _of_one_option(kind, size)
