"""Scratch files of a long layer: blocks of its expansion that do not fit into memory, by key range, until the merge.

``<run>/spill/<depth>-<range>`` is a sequence of frames, each a header and a block (`storage.layers.blocks`):

    CRC-32 of the frame's place and the rest of the header; the number of bytes of the block's value; four bytes each,
    big-endian; the block's first key
    the value of a block of layer <depth>

The place of a frame is the name of its file and its offset there, eight bytes. So no frame of another layer or range
can pass for it, even after a failed removal of older files.

Frames are appended. After `sync` all of them are durable. The run's ledger then records the length of each file; a
resume cuts off everything beyond it. A frame is broken if a CRC or its length differs. Spill files are not needed once
the layer is committed. Files of another version of this format are not read: the layer is begun again.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final, Literal

from hakoiri.errors import DamagedError, Hint
from hakoiri.keys.layout import Layout
from hakoiri.storage.engine.environment import require_free, translated
from hakoiri.storage.engine.files import Given
from hakoiri.storage.layers.blocks import Block, Coded, count_of, is_sound
from hakoiri.storage.ledger.lock import require_held
from hakoiri.storage.ledger.manifest import Depth, seal, unseal
from hakoiri.storage.names import SPILL_FOLDER

_VERSION: Final = 2
_CRC, _WORD = 4, 4
_OFFSET_BYTES = 8


@dataclass(frozen=True)
class SpillFiles:
    """The length of each range's file in bytes, and its number of keys; range numbers as text, for msgpack."""

    version: Literal[2]
    lengths: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)

    def beyond(self, first: int, end: int = sys.maxsize) -> "SpillFiles":
        """Return the files of the ranges first <= number < end."""
        lengths, keys = (
            {name: count for name, count in part.items() if first <= int(name) < end}
            for part in (self.lengths, self.keys)
        )
        return replace(self, lengths=lengths, keys=keys)

    def outside(self, ranges: range) -> "SpillFiles":
        """Return the files of all ranges but some neighbouring ones."""
        below, above = self.beyond(0, ranges.start), self.beyond(ranges.stop)
        return replace(self, lengths=below.lengths | above.lengths, keys=below.keys | above.keys)


NO_FILES = SpillFiles(_VERSION)


class Spill:
    """The spill files of layer `depth`. The driver of the run appends to them; its threads read them."""

    def __init__(self, directory: Path, layout: Layout, depth: Depth) -> None:
        self._run, self.layout, self._depth = directory, layout, depth
        self._given = Given(directory)
        self.files = NO_FILES
        #: The files appended to since the last `sync`.
        self._unsynced: set[str] = set()

    @property
    def run(self) -> str:
        """The name of the run."""
        return self._run.name

    @property
    def stored_bytes(self) -> int:
        return sum(self.files.lengths.values())

    def keys_in(self, number: int) -> int:
        return self.files.keys.get(str(number), 0)

    def append(self, number: int, coded: Coded) -> None:
        """Append blocks of the layer to the file of a range. Raises `DiskFullError` before room runs out."""
        lengths, keys, name = dict(self.files.lengths), dict(self.files.keys), str(number)
        begin, raw = lengths.get(name, 0), bytearray()
        for block in coded.blocks(self._depth):
            header = len(block.value).to_bytes(_WORD, "big") + block.first.to_bytes(self.layout.bytes, "big")
            raw += seal(header, self._place(number, begin + len(raw))) + block.value
        require_free(self._run, len(raw))
        require_held(self._run)
        with translated(self._run):
            self._given.make_folder(SPILL_FOLDER)
            with self._given.open(self._name(number), "ab") as file:
                # Bytes that another session left here are not in the run's ledger.
                file.truncate(begin)
                file.write(raw)
        lengths[name] = begin + len(raw)
        keys[name] = keys.get(name, 0) + int(coded.counts.sum())
        self.files = replace(self.files, lengths=lengths, keys=keys)
        self._unsynced.add(name)

    def read(self, number: int) -> Iterator[Block]:
        """Yield the blocks of a range, in any order; `DamagedError` for a broken frame."""
        length = self.files.lengths.get(str(number), 0)
        if not length:
            return
        with translated(self._run), self._given.open(self._name(number), "rb") as file:
            while file.tell() < length:
                yield self._read_frame(file, number)

    @contextmanager
    def decoding(self, number: int) -> Iterator[None]:
        """Within this, a `DamagedError` for a block of a range names its file and the next step."""
        try:
            yield
        except DamagedError as error:
            raise self._broken(number) from error

    def forget_below(self, first: int) -> None:
        """Remove the files of the ranges before range `first`."""
        self.keep(self.files.beyond(first))

    def keep(self, files: SpillFiles) -> None:
        """Remove the files of all ranges but those in `files`."""
        for name in self.files.lengths.keys() - files.lengths.keys():
            self._given.unlink(self._name(name))
        self.files = files

    def sync(self) -> None:
        """Make everything appended durable."""
        with translated(self._run):
            for name in self._unsynced:
                with suppress(FileNotFoundError), self._given.open(self._name(name), "rb") as file:
                    os.fsync(file.fileno())
            self._given.flush(SPILL_FOLDER)
        self._unsynced.clear()

    def are_left_out(self, files: SpillFiles) -> bool:
        """Return whether none of some files exists, as in a run that was archived in the midst of a layer."""
        return bool(files.lengths) and not self._given.names(SPILL_FOLDER)

    def restore(self, files: SpillFiles) -> None:
        """Adopt the files recorded in the run's ledger, remove others; `DamagedError` if one is missing or short."""
        with translated(self._run):
            for name, length in files.lengths.items():
                try:
                    with self._given.open(self._name(name), "r+b") as file:
                        if os.fstat(file.fileno()).st_size < length:
                            raise self._broken(int(name))
                        file.truncate(length)
                except FileNotFoundError:
                    raise self._broken(int(name)) from None
            for name in {*self._given.names(SPILL_FOLDER)} - {f"{self._depth}-{name}" for name in files.lengths}:
                self._given.unlink(f"{SPILL_FOLDER}/{name}")
        self.files = files

    def clear(self) -> None:
        self.files = NO_FILES
        self._unsynced.clear()
        self._given.remove_folder(SPILL_FOLDER)

    def _name(self, number: int | str) -> str:
        return f"{SPILL_FOLDER}/{self._depth}-{number}"

    def _place(self, number: int, offset: int) -> bytes:
        return f"{self._depth}-{number}".encode() + offset.to_bytes(_OFFSET_BYTES, "big")

    def _read_frame(self, file: IO[bytes], number: int) -> Block:
        place = self._place(number, file.tell())
        with self.decoding(number):
            header = unseal(file.read(_CRC + _WORD + self.layout.bytes), "frame", place)
            length, first = (int.from_bytes(part, "big") for part in (header[:_WORD], header[_WORD:]))
            value = file.read(length)
            block = Block(self._depth, first, count_of(value), value)
            if len(value) != length or not is_sound(block, self.layout):
                raise self._broken(number)
            return block

    def _broken(self, number: int) -> DamagedError:
        return DamagedError(f"spill file {self._depth}-{number} of run {self.run} is damaged", Hint("repair", self.run))
