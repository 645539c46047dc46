"""The data file of a run of many gigabytes, made in a moment: all pages of its trees, and few of its blocks.

The blocks that are not written are holes of the file. Whoever reads one finds damage.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

import lmdb
import numpy as np

from hakoiri.storage.names import BLOCKS, DATA_FILE, block_key

PAGE = 4096
_HEAD = struct.Struct("=QHHHH")
_RECORD = struct.Struct("=IHHQQQQQ")
_BRANCH, _LEAF, _OVERFLOW, _ELSEWHERE = 1, 2, 4, 1


class Blocks(NamedTuple):
    """Blocks of one layer of 64-bit keys, all of one size; block number n begins with key n * `step`."""

    branches: int
    size: int
    step: int

    @property
    def leaves(self) -> int:
        """The number of leaves if each branch is full."""
        return self.branches * _per_page(8 + 12)

    @property
    def number(self) -> int:
        """The number of blocks if each leaf is full."""
        return self.leaves * _per_page(8 + 12 + 8)

    @property
    def pages(self) -> int:
        """The number of pages of a block."""
        return -(-(16 + self.size) // PAGE)

    def names(self) -> np.ndarray:
        """The names of the blocks, one row of bytes each."""
        firsts = (np.arange(self.number, dtype=np.uint64) * np.uint64(self.step)).astype(">u8")
        return np.concatenate([np.zeros((self.number, 4), np.uint8), firsts.view(np.uint8).reshape(-1, 8)], axis=1)


def add_blocks(directory: Path, blocks: Blocks, written: Mapping[int, bytes]) -> None:
    """Give a run that has none its `blocks` in layer 0, of which those of `written` are there."""
    with lmdb.open(str(directory), max_dbs=20) as environment, environment.begin(write=True) as transaction:
        # One entry, so that the database has a record, to be told by its number of entries.
        transaction.put(block_key(0, 0, 8), b"", db=environment.open_db(BLOCKS, transaction))
    with open(directory / DATA_FILE, "r+b") as file:
        begin = file.seek(0, 2) // PAGE
        first_block = begin + blocks.leaves + blocks.branches + 1
        end = first_block + blocks.number * blocks.pages
        _write_trees(file, blocks, begin, first_block)
        for number, value in written.items():
            page = first_block + number * blocks.pages
            file.seek(page * PAGE)
            file.write(struct.pack("=QHHI", page, 0, _OVERFLOW, blocks.pages) + value)
        file.truncate(end * PAGE)
        record = _RECORD.pack(
            0, 0, 3, blocks.branches + 1, blocks.leaves, end - first_block, blocks.number, first_block - 1
        )
        _replace_record(file, record)
        _extend(file, end - 1)


def _write_trees(file: BinaryIO, blocks: Blocks, begin: int, first_block: int) -> None:
    names = blocks.names()
    overflow = np.arange(blocks.number, dtype=np.uint64) * np.uint64(blocks.pages) + np.uint64(first_block)
    sizes = np.full(blocks.number, blocks.size, dtype=np.uint64)
    file.seek(begin * PAGE)
    file.write(_pages_of(begin, _LEAF, sizes | np.uint64(_ELSEWHERE << 32), names, overflow))
    leaves = np.arange(blocks.leaves, dtype=np.uint64) + np.uint64(begin)
    names = names[:: blocks.number // blocks.leaves]
    file.write(_pages_of(begin + blocks.leaves, _BRANCH, leaves, names))
    branches = np.arange(blocks.branches, dtype=np.uint64) + np.uint64(begin + blocks.leaves)
    names = names[:: blocks.leaves // blocks.branches]
    file.write(_pages_of(first_block - 1, _BRANCH, branches, names, per_page=blocks.branches))


def _per_page(node: int) -> int:
    return (PAGE - _HEAD.size) // (node + 2)


def _pages_of(
    begin: int, kind: int, figures: np.ndarray, names: np.ndarray, values: np.ndarray | None = None, per_page: int = 0
) -> bytes:
    """Full pages of nodes: 48 bits of size and flags or a child's number, the name, and the value of a leaf."""
    parts = [
        figures.view(np.uint8).reshape(-1, 8)[:, :6],
        np.full((len(names), 2), (names.shape[1], 0), np.uint8),
        names,
    ]
    nodes = np.concatenate(parts + ([] if values is None else [values.view(np.uint8).reshape(-1, 8)]), axis=1)
    length = nodes.shape[1]
    per_page = per_page or _per_page(length)
    upper = PAGE - per_page * length
    offsets = (upper + length * np.arange(per_page)).astype(np.uint16).tobytes()
    rows = nodes.reshape(-1, per_page * length)
    raw = bytearray()
    for number, row in enumerate(rows, begin):
        head = _HEAD.pack(number, 0, kind, _HEAD.size + len(offsets), upper) + offsets
        raw += head.ljust(upper, b"\0") + row.tobytes()
    return bytes(raw)


def _replace_record(file: BinaryIO, record: bytes) -> None:
    """Put the record of the database with one entry on every page that has it."""
    file.seek(0)
    raw = file.read(64 * PAGE)
    known = BLOCKS + _RECORD.pack(0, 0, 1, 0, 1, 0, 1, 0)[:-8]
    assert known in raw
    place = raw.find(known)
    while place >= 0:
        file.seek(place + len(BLOCKS))
        file.write(record)
        place = raw.find(known, place + 1)


def _extend(file: BinaryIO, last_page: int) -> None:
    """Tell both meta pages how long the file is."""
    for page in (0, 1):
        file.seek(page * PAGE + 136)
        file.write(struct.pack("=Q", last_page))
