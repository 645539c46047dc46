"""The format of LMDB's data file: its pages, and what they hold, parsed with every figure checked.

The format is that of LMDB 0.9 (`mdb.c`) on a machine of 64 bits, in its own byte order:

    page      number (8 bytes), pad (2), kind (2), lower (2), upper (2); the offsets of its nodes (2 each) as far as
              `lower`; the nodes from `upper` on
    overflow  number (8), pad (2), kind (2), how many pages these are (4); a value
    node      low (2), high (2), flags (2), length of the name (2), name; of a branch low, high and flags are the
              child's number; of a leaf low and high are the size of the value, which follows, or the number of its
              first overflow page (8), or a database
    database  page size or 0 (4), flags (2), depth (2), branch, leaf and overflow pages, entries, root (8 each)
    meta      number (8), pad (2), kind (2), unused (4), magic (4), version (4), address (8), size of the map (8),
              the databases FREE and MAIN, last page (8), transaction (8)

Pages 0 and 1 are meta pages, written in turn. MAIN has an entry for each named database. FREE has one for each
transaction that let pages go: how many (8), then their numbers (8 each), in decreasing order.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from hakoiri.storage.names import MAP_BYTES

_MAGIC, _VERSION = 0xBEEFC0DE, 1
BRANCH, LEAF, OVERFLOW, _META = 1, 2, 4, 8
#: The flags of a leaf's node: its value follows, or is in overflow pages, or is a database.
_HERE, ELSEWHERE, DATABASE = 0, 1, 2
_HEAD = struct.Struct("=QHHHH")
OVERFLOW_HEAD = struct.Struct("=QHHI")
_NODE = struct.Struct("=HHHH")
_RECORD = struct.Struct("=IHHQQQQQ")
META_HEAD = struct.Struct("=QHHIIIQQ48s48sQQ")
NUMBER = struct.Struct("=Q")
PAGE_SIZES = [1 << bits for bits in range(9, 16)]
#: The flags of a database that define the order of its names and values; FREE has integers as names.
_ORDERING, _INTEGERS = 0x7F, 8
_MOST_LEVELS = 32


class PageError(ValueError):
    """The file is damaged; the message names the page."""


class Place(NamedTuple):
    """The position of a page in its tree: the number of levels down to the leaves, and the bounds of its names."""

    number: int
    levels: int
    low: bytes = b""
    high: bytes | None = None
    #: Not FREE, whose names are integers.
    ordered: bool = True


class Tree(NamedTuple):
    """One database as one transaction left it, and its number of pages."""

    root: Place
    pages: int


class Meta(NamedTuple):
    """A meta page: what one transaction left."""

    page_size: int
    free: Tree
    main: Tree
    last_page: int
    transaction: int


class Page(NamedTuple):
    """A branch or leaf: the name and the content of each node. The first name of a branch is empty.

    The content of a branch's node is the number of the child; of a leaf's node, flags, offset and size of the value.
    """

    raw: bytes
    names: list[bytes]
    nodes: list[tuple[int, int, int]]

    def child(self, node: int, place: Place) -> Place:
        """Return the position of a child of this page."""
        low = self.names[node] if node else place.low
        high = self.names[node + 1] if node + 1 < len(self.names) else place.high
        return Place(self.nodes[node][0], place.levels - 1, low, high, place.ordered)


def meta_of(number: int, raw: bytes) -> Meta:
    """Return what a meta page says."""
    _, _, kind, _, magic, version, _, _, free, main, last_page, transaction = META_HEAD.unpack(raw)
    if (kind, magic, version) != (_META, _MAGIC, _VERSION):
        raise PageError(f"page {number} is not a meta page")
    size, *_ = _RECORD.unpack(free)
    if size not in PAGE_SIZES or not 0 < last_page < MAP_BYTES // size:
        raise PageError(f"meta page {number} is damaged")
    return Meta(size, tree_of(free, ordered=False), tree_of(main), last_page, transaction)


def tree_of(record: bytes, ordered: bool = True) -> Tree:
    """Return the database of a record; FREE is not ordered."""
    if len(record) != _RECORD.size:
        raise PageError("a database of it is damaged")
    _, flags, levels, branches, leaves, overflows, _, root = _RECORD.unpack(record)
    if flags & _ORDERING != (0 if ordered else _INTEGERS) or levels > _MOST_LEVELS:
        raise PageError("a database of it is damaged")
    return Tree(Place(root, levels, ordered=ordered), branches + leaves + overflows)


def page_of(raw: bytes, number: int, kind: int, ordered: bool, last_page: int) -> Page:
    """Return a branch or leaf, after a check that it is the wanted page and sound."""
    found, _, flags, lower, upper = _HEAD.unpack_from(raw)
    sound = _HEAD.size < lower <= upper <= len(raw) and number <= last_page
    if (found, flags) != (number, kind) or not sound:
        raise PageError(f"page {number} is damaged, or in the place of another")
    places = struct.unpack_from(f"={(lower - _HEAD.size) // 2}H", raw, _HEAD.size)
    try:
        page = Page(raw, *_nodes_of(raw, places, kind, upper))
    except struct.error as error:
        raise PageError(f"page {number} is damaged: {error}") from error
    names = page.names[kind == BRANCH :]
    if ordered and not all(before < after for before, after in pairwise(names)):
        raise PageError(f"page {number} is damaged: its keys do not increase")
    return page


def _nodes_of(
    raw: bytes, places: Sequence[int], kind: int, upper: int
) -> tuple[list[bytes], list[tuple[int, int, int]]]:  # fmt: skip
    """Return names and contents of the nodes of a page; ``struct.error`` unless they fill it from `upper` to its end.

    IMPORTANT: LMDB moves nodes by their sizes when it changes a page, and with a wrong size writes beyond it.
    """
    names, nodes, ends = [], [], []
    for place in places:
        low, high, flags, length = _NODE.unpack_from(raw, place)
        begin = place + _NODE.size + length
        names.append(raw[place + _NODE.size : begin])
        size = low | high << 16
        if kind == BRANCH:
            nodes.append((size | flags << 32, 0, 0))
            end = begin
        else:
            nodes.append((flags, begin, size))
            end = begin + (NUMBER.size if flags == ELSEWHERE else size)
        if kind == LEAF and flags not in (_HERE, ELSEWHERE, DATABASE):
            raise struct.error(f"its node at {place}")
        ends.append(end + (end - place) % 2)
    if [*sorted(places), len(raw)] != [upper, *sorted(ends)]:
        raise struct.error("its nodes overlap or leave gaps")
    if kind == BRANCH:
        names[0] = b""
    return names, nodes
