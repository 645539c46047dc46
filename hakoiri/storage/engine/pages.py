"""A reader of LMDB's data file that checks every page it reads: damage is an error here, and never a signal.

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

LMDB trusts its file. Beyond a truncated end, or behind a damaged page number, a read of its memory map kills the
process by SIGBUS. So Hakoiri writes through LMDB and reads through this module, which reads only the pages on the path
to the wanted entries: a file of any size opens at once. A reader must hold an LMDB transaction, or check afterwards
that none was committed, because a writer may use old pages again.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
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


#: A mode of `fallocate(2)`: free the blocks of a part of a file, and keep its length.
_PUNCH_HOLE = 3
#: Parsed pages in the cache: about 20 kB each.
_KEPT_PAGES = 64


class DataFile:
    """An open data file; `close` closes its descriptor. Raises `PageError` if LMDB could not open the file."""

    def __init__(self, descriptor: int) -> None:
        self._file = descriptor
        #: The transaction that a reader holds.
        self._pinned: Snapshot | None = None
        #: The two meta pages as they were read last, and the newest transaction by them. One tuple, because threads
        #: read at the same time.
        self._newest: tuple[list[bytes], Snapshot | None] = [], None
        try:
            self.page_size = PAGE_SIZES[0]
            self.page_size = self._meta(0).page_size
            if self._meta(1).page_size != self.page_size:
                raise PageError("the two meta pages differ")
        except BaseException:
            self.close()
            raise

    @property
    def number(self) -> int:
        """The inode number, which no other file has while this one is open."""
        return os.fstat(self._file).st_ino

    @property
    def pages(self) -> int:
        """The number of pages; LMDB never makes it smaller."""
        return os.fstat(self._file).st_size // self.page_size

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def read(self, page: int, count: int) -> bytes:
        """Return the first `count` bytes from page number `page` on."""
        begin = page * self.page_size
        if begin + count > os.fstat(self._file).st_size:
            raise PageError(f"page {page} is missing; the file is truncated or overwritten")
        return os.pread(self._file, count, begin)

    def free(self, pages: Iterable[int]) -> None:
        """Give pages of a file open for writing back to the disk, where that is possible: they become zeroes.

        Runs of falling numbers are given back at once.
        """
        import ctypes

        fallocate = getattr(ctypes.CDLL(None), "fallocate", lambda *_: None)
        for _, run in groupby(enumerate(pages), sum):
            numbers = [page for _, page in run]
            begin, size = numbers[-1] * self.page_size, len(numbers) * self.page_size
            fallocate(self._file, _PUNCH_HOLE, ctypes.c_int64(begin), ctypes.c_int64(size))

    def newest(self) -> "Snapshot":
        """Return all databases as the last transaction left them; the same object until the next one is committed."""
        heads = [self._head(number) for number in (0, 1)]
        known, newest = self._newest
        if newest is None or heads != known:
            meta = max(map(meta_of, (0, 1), heads), key=lambda meta: meta.transaction)
            if newest is None or newest.meta != meta:
                newest = Snapshot(self, meta)
            self._newest = heads, newest
        return newest

    def snapshot(self, transaction: int) -> "Snapshot | None":
        """Return all databases as a transaction left them, by its number; ``None`` if its meta page was overwritten."""
        if self._pinned is None or self._pinned.transaction != transaction:
            meta = self._meta(transaction & 1)
            if meta.transaction != transaction:
                return None
            self._pinned = Snapshot(self, meta)
        return self._pinned

    def _meta(self, number: int) -> Meta:
        return meta_of(number, self._head(number))

    def _head(self, number: int) -> bytes:
        return self.read(number, META_HEAD.size)


class PageSet:
    """Numbers of pages up to `last`, one bit each."""

    def __init__(self, last: int) -> None:
        self._last, self._bits = last, bytearray((last >> 3) + 1)

    def add(self, first: int, count: int = 1) -> None:
        """Add `count` pages from `first` on; `PageError` if one of them is there, or is no page of a tree."""
        place = slice(first >> 3, (first + count + 7) >> 3)
        if not 2 <= first <= self._last + 1 - count:
            raise PageError(f"page {first} is not in the file")
        known, added = int.from_bytes(self._bits[place], "little"), ((1 << count) - 1) << (first & 7)
        if known & added:
            raise PageError(f"page {first} is used twice")
        self._bits[place] = (known | added).to_bytes(place.stop - place.start, "little")


class Snapshot:
    """All databases as one transaction left them."""

    def __init__(self, file: DataFile, meta: Meta) -> None:
        self._file, self.meta = file, meta
        self.transaction = meta.transaction
        self._pages: dict[tuple[int, int], Page] = {}
        self._trees: dict[bytes, Tree] = {}

    def tree(self, database: bytes) -> Tree:
        if database not in self._trees:
            page, node = next(self._walk(self.meta.main.root, database), (None, 0))
            if page is None or page.names[node] != database:
                raise PageError(f"database {database.decode()} is missing")
            self._trees[database] = self._named(page, node)
        return self._trees[database]

    def names(self, tree: Tree, begin: bytes = b"") -> Iterator[bytes]:
        """Return the names from `begin` on, in order."""
        return (page.names[node] for page, node in self._walk(tree.root, begin))

    def entries(self, tree: Tree, begin: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Return the names and values from `begin` on, in order."""
        return ((page.names[node], self._value(page, node)) for page, node in self._walk(tree.root, begin))

    def get(self, tree: Tree, name: bytes) -> bytes | None:
        page, node = next(self._walk(tree.root, name), (None, 0))
        return self._value(page, node) if page is not None and page.names[node] == name else None

    def check_books(self) -> None:
        """Raise `PageError` if a page is in two trees, in two places of one, or also free: LMDB would abort.

        Reads all branches and leaves, 0.1 ms each.
        """
        seen = PageSet(self.meta.last_page)
        named = [self._named(page, node) for page, node in self._walk(self.meta.main.root)]
        for tree in (self.meta.free, self.meta.main, *named):
            self._add_pages(tree.root, seen)
        for number in self.free_pages():
            seen.add(number)

    def free_pages(self, since: int = 0) -> Iterator[int]:
        """Yield the numbers of the pages that nothing uses; `PageError` if their list is damaged.

        Those that the state of `since` transactions before uses are left out, for up to one.
        """
        for name, value in self.entries(self.meta.free):
            if NUMBER.unpack(name)[0] > self.transaction - since:
                continue
            # The first number is the count of those that follow; an empty value fails the check below.
            count, *numbers = struct.unpack_from(f"={len(value) // NUMBER.size}Q", value) or (1,)
            del numbers[count:]
            falling = all(before > after for before, after in pairwise([self.meta.last_page + 1, *numbers, 1]))
            if len(numbers) != count or not falling:
                raise PageError("the list of free pages is damaged")
            yield from numbers

    def _add_pages(self, place: Place, seen: PageSet) -> None:
        """Add the pages of a tree below a place, and those of its large values."""
        if not place.levels:
            return
        page = self._checked(place)
        seen.add(place.number)
        for node, (kind, at, size) in enumerate(page.nodes):
            if place.levels > 1:
                self._add_pages(page.child(node, place), seen)
            elif kind == ELSEWHERE:
                (number,) = NUMBER.unpack_from(page.raw, at)
                seen.add(number, -(-(OVERFLOW_HEAD.size + size) // self._file.page_size))

    def _walk(self, place: Place, begin: bytes = b"") -> Iterator[tuple[Page, int]]:
        if not place.levels:
            return
        page = self._checked(place)
        if place.levels == 1:
            for node in range(bisect_left(page.names, begin), len(page.names)):
                yield page, node
        else:
            for node in range(bisect_right(page.names, begin) - 1, len(page.names)):
                yield from self._walk(page.child(node, place), begin)

    def last_name(self, place: Place, most: bytes) -> bytes | None:
        """Return the greatest name below a page that is not above `most`."""
        if not place.levels:
            return None
        page = self._checked(place)
        for node in range(bisect_right(page.names, most) - 1, -1, -1):
            if place.levels == 1:
                return page.names[node]
            # If all names of this child are above `most`, the answer is the last name of the child before it.
            if (found := self.last_name(page.child(node, place), most)) is not None:
                return found
        return None

    def _checked(self, place: Place) -> Page:
        """Return a page, after a check that its names are within the bounds given by the pages above it."""
        wanted = place.number, LEAF if place.levels == 1 else BRANCH
        if (page := self._pages.get(wanted)) is None:
            if len(self._pages) >= _KEPT_PAGES:
                self._pages.clear()
            raw = self._file.read(place.number, self._file.page_size)
            page = self._pages[wanted] = page_of(raw, *wanted, place.ordered, self.meta.last_page)
        names = page.names if place.levels == 1 else page.names[1:]
        if place.ordered and names and (names[0] < place.low or (place.high is not None and names[-1] >= place.high)):
            raise PageError(f"page {place.number} is in the wrong place")
        return page

    def _value(self, page: Page, node: int) -> bytes:
        flags, place, size = page.nodes[node]
        if flags != ELSEWHERE:
            return page.raw[place : place + size]
        (number,) = NUMBER.unpack_from(page.raw, place)
        raw = self._file.read(number, OVERFLOW_HEAD.size + size)
        found, _, kind, count = OVERFLOW_HEAD.unpack_from(raw)
        if (found, kind, count) != (number, OVERFLOW, -(-len(raw) // self._file.page_size)):
            raise PageError(f"page {number} is damaged, or in the place of another")
        return raw[OVERFLOW_HEAD.size :]

    def _named(self, page: Page, node: int) -> Tree:
        if page.nodes[node][0] != DATABASE:
            raise PageError(f"database {page.names[node]!r} is damaged")
        return tree_of(self._value(page, node))
