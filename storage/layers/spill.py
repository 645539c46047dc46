"""Scratch files of a long layer: what its expansion gave and memory did not hold, by key range, until it is merged.

``<run>/spill/<depth>-<range>`` is a sequence of frames, each a block of strictly increasing keys:

    number of bytes after the first eight, four bytes; CRC-32 of the frame's place and all that follows, four bytes;
    the first key; the number of keys, four bytes; all big-endian; the differences (`storage.layers.codec`)

The place of a frame is the name of its file and its offset there, eight bytes, so that no frame of another layer or
range can pass for it, whatever a failed removal has left behind.

Frames are appended. After `sync` all of them outlive a power cut; how long each file was then is written down in the
run's books, and what stands behind that is cut off when the layer is taken up again. A frame is broken if its CRC or
its length differs. Nothing here is needed once the layer is committed.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Key, Keys, Layout
from hakoiri.puzzles.keys.order import slice_between
from hakoiri.storage.engine.environment import require_free
from hakoiri.storage.engine.files import flush
from hakoiri.storage.engine.inside import make_folder, names_inside, open_inside, remove_folder, remove_inside
from hakoiri.storage.engine.translation import translated
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.blocks import Packed, unpack_blocks
from hakoiri.storage.layers.coded import Coded
from hakoiri.storage.ledger.lock import require_held
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.ledger.records import seal, unseal
from hakoiri.storage.names import SPILL_FOLDER

_WORD = 4
_OFFSET_BYTES = 8


@dataclass(frozen=True)
class SpillFiles:
    """How long the file of each range is, in bytes, and how many keys it has; range numbers as text, for msgpack."""

    lengths: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)

    def beyond(self, first: int) -> "SpillFiles":
        """Those of range `first` and the ranges after it."""
        kept = (
            {name: count for name, count in part.items() if int(name) >= first} for part in (self.lengths, self.keys)
        )
        return SpillFiles(*kept)


class Spill:
    """The spill files of the making of layer `depth`. Appended to by the one driver of the run; read by its threads."""

    def __init__(self, directory: Path, layout: Layout, depth: Depth) -> None:
        self._run, self._layout, self._depth = directory, layout, depth
        self.files = SpillFiles()
        #: The files appended to since they were last made durable.
        self._unsynced: set[str] = set()

    @property
    def stored_bytes(self) -> int:
        return sum(self.files.lengths.values())

    def keys_in(self, number: int) -> int:
        return self.files.keys.get(str(number), 0)

    def append(self, number: int, packed: Packed | Coded) -> None:
        """Write a strictly increasing batch to the file of a range. Raises `DiskFullError` before room runs out."""
        lengths, keys, name = dict(self.files.lengths), dict(self.files.keys), str(number)
        begin = lengths.get(name, 0)
        raw = self._frames(number, packed, begin)
        require_free(self._run, len(raw))
        require_held(self._run)
        with translated(self._run):
            make_folder(self._run, SPILL_FOLDER)
            with open_inside(self._run, self._name(number), "ab") as file:
                # What another session left here is not in our books.
                file.truncate(begin)
                file.write(raw)
        lengths[name] = begin + len(raw)
        keys[name] = keys.get(name, 0) + int(packed.counts.sum())
        self.files = SpillFiles(lengths, keys)
        self._unsynced.add(name)

    def read(self, number: int) -> Iterator[Packed]:
        """The batches of a range, in no order among them; `DamagedError` for a broken frame."""
        length = self.files.lengths.get(str(number), 0)
        if not length:
            return
        with translated(self._run), open_inside(self._run, self._name(number), "rb") as file:
            while file.tell() < length:
                yield self._read_frame(file, number)

    def read_between(self, number: int, low: Key, high: Key) -> Iterator[Keys]:
        """The keys of a range with low <= key < high, batch by batch."""
        for packed in self.read(number):
            try:
                yield slice_between(unpack_blocks(packed), low, high)
            except DamagedError as error:
                raise self._broken(number) from error

    def forget_below(self, first: int) -> None:
        """Remove the files of the ranges before range `first`."""
        for name in self.files.lengths:
            if int(name) < first:
                remove_inside(self._run, self._name(name))
        self.files = self.files.beyond(first)

    def sync(self) -> None:
        """Return when everything appended is on disk."""
        with translated(self._run):
            for name in self._unsynced:
                with suppress(FileNotFoundError), open_inside(self._run, self._name(name), "rb") as file:
                    os.fsync(file.fileno())
            # The folder may be a new one, whose name is one in the run's own.
            for path in (self._run / SPILL_FOLDER, self._run):
                if path.exists():
                    flush(path)
        self._unsynced.clear()

    def restore(self, files: SpillFiles) -> None:
        """Take up the files as the run's books know them; `DamagedError` if one is missing or too short."""
        with translated(self._run):
            for name, length in files.lengths.items():
                self._cut(name, length)
            for name in {*names_inside(self._run, SPILL_FOLDER)} - {f"{self._depth}-{name}" for name in files.lengths}:
                remove_inside(self._run, f"{SPILL_FOLDER}/{name}")
        self.files = files

    def clear(self) -> None:
        self.files = SpillFiles()
        self._unsynced.clear()
        remove_folder(self._run, SPILL_FOLDER)

    def _cut(self, name: str, length: int) -> None:
        """Cut off what stands behind `length` in the file of a range."""
        try:
            with open_inside(self._run, self._name(name), "r+b") as file:
                if os.fstat(file.fileno()).st_size < length:
                    raise self._broken(int(name))
                file.truncate(length)
        except FileNotFoundError:
            raise self._broken(int(name)) from None

    def _name(self, number: int | str) -> str:
        return f"{SPILL_FOLDER}/{self._depth}-{number}"

    def _place(self, number: int, offset: int) -> bytes:
        return f"{self._depth}-{number}".encode() + offset.to_bytes(_OFFSET_BYTES, "big")

    def _frames(self, number: int, packed: Packed | Coded, offset: int) -> bytes:
        raw = bytearray()
        for first, count, differences in packed.parts():
            rest = first.to_bytes(self._layout.bytes, "big") + count.to_bytes(_WORD, "big") + differences.tobytes()
            raw += len(rest).to_bytes(_WORD, "big") + seal(rest, self._place(number, offset + len(raw)))
        return bytes(raw)

    def _read_frame(self, file: IO[bytes], number: int) -> Packed:
        place = self._place(number, file.tell())
        length = int.from_bytes(file.read(_WORD), "big")
        width = self._layout.bytes
        try:
            rest = unseal(file.read(_WORD + length), "frame", place)
        except DamagedError as error:
            raise self._broken(number) from error
        # The length is under no checksum, and of the last frame all that is left is read, however long it says it is.
        if len(rest) != length or length < width + _WORD:
            raise self._broken(number)
        count = int.from_bytes(rest[width : width + _WORD], "big")
        data = np.frombuffer(rest, dtype=np.uint8, offset=width + _WORD)
        counts, ends = (np.array([value], dtype=np.int64) for value in (count, len(data)))
        return Packed(self._layout.from_big_endian(rest[:width]), counts, ends, data)

    def _broken(self, number: int) -> DamagedError:
        run = self._run.name
        return DamagedError(f"run {run}: its spill file {self._depth}-{number} is damaged", Step("repair", run))
