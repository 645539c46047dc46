"""A reader of LMDB's data file that checks every page it reads: damage is an error here, and never a signal.

LMDB trusts its file. Beyond a truncated end, or behind a damaged page number, a read of its memory map kills the
process by SIGBUS. So Hakoiri writes through LMDB and reads through this module, which reads only the pages on the path
to the wanted entries: a file of any size opens at once. A reader must hold an LMDB transaction, or check afterwards
that none was committed, because a writer may use old pages again.
"""

import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from hakoiri.storage.engine import page_format
from hakoiri.storage.engine.page_format import Meta, Page, PageError, Place, Tree, meta_of, page_of, tree_of

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
            self.page_size = page_format.PAGE_SIZES[0]
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
        return self.read(number, page_format.META_HEAD.size)


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
            self._trees[database] = self._found_tree(database)
        return self._trees[database]

    def _found_tree(self, database: bytes) -> Tree:
        for page, node in self._walk(self.meta.main.root, database):
            if page.names[node] == database:
                return self._named(page, node)
            break
        raise PageError(f"database {database.decode()} is missing")

    def names(self, tree: Tree, begin: bytes = b"") -> Iterator[bytes]:
        """Return the names from `begin` on, in order."""
        return (page.names[node] for page, node in self._walk(tree.root, begin))

    def entries(self, tree: Tree, begin: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Return the names and values from `begin` on, in order."""
        return ((page.names[node], self._value(page, node)) for page, node in self._walk(tree.root, begin))

    def get(self, tree: Tree, name: bytes) -> bytes | None:
        for page, node in self._walk(tree.root, name):
            return self._value(page, node) if page.names[node] == name else None
        return None

    def check_books(self) -> None:
        """Raise `PageError` if a page is in two trees, in two places of one, or also free: LMDB would abort.

        Reads all branches and leaves, 0.1 ms each.
        """
        last, seen = self.meta.last_page, PageSet(self.meta.last_page)
        named = [self._named(page, node) for page, node in self._walk(self.meta.main.root)]
        for tree in (self.meta.free, self.meta.main, *named):
            self._add_pages(tree.root, seen)
        for _, value in self.entries(self.meta.free):
            # The first number is the count of those that follow; an empty value fails the check below.
            count, *numbers = struct.unpack_from(f"={len(value) // page_format.NUMBER.size}Q", value) or (1,)
            del numbers[count:]
            falling = all(before > after for before, after in pairwise([last + 1, *numbers, 1]))
            if len(numbers) != count or not falling:
                raise PageError("the list of free pages is damaged")
            for number in numbers:
                seen.add(number)

    def _add_pages(self, place: Place, seen: PageSet) -> None:
        """Add the pages of a tree below a place, and those of its large values."""
        if not place.levels:
            return
        page = self._checked(place)
        seen.add(place.number)
        for node, (kind, at, size) in enumerate(page.nodes):
            if place.levels > 1:
                self._add_pages(page.child(node, place), seen)
            elif kind == page_format.ELSEWHERE:
                (number,) = page_format.NUMBER.unpack_from(page.raw, at)
                seen.add(number, -(-(page_format.OVERFLOW_HEAD.size + size) // self._file.page_size))

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
        wanted = place.number, page_format.LEAF if place.levels == 1 else page_format.BRANCH
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
        if flags != page_format.ELSEWHERE:
            return page.raw[place : place + size]
        (number,) = page_format.NUMBER.unpack_from(page.raw, place)
        raw = self._file.read(number, page_format.OVERFLOW_HEAD.size + size)
        found, _, kind, count = page_format.OVERFLOW_HEAD.unpack_from(raw)
        if (found, kind, count) != (number, page_format.OVERFLOW, -(-len(raw) // self._file.page_size)):
            raise PageError(f"page {number} is damaged, or in the place of another")
        return raw[page_format.OVERFLOW_HEAD.size :]

    def _named(self, page: Page, node: int) -> Tree:
        if page.nodes[node][0] != page_format.DATABASE:
            raise PageError(f"database {page.names[node]!r} is damaged")
        return tree_of(self._value(page, node))
