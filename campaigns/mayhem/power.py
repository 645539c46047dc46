"""The contents that a disk may have after a power cut: all that is durable, and a random part of the rest.

Read from the log of `shim.c`. A write is durable when its file is synced afterwards, or if the file was opened with
O_DSYNC; a name when its folder is. Some of the writes that are not durable are there, in no order, and
any of them may be cut off at a sector. A folder has the first few of its changes.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

_HEAD = struct.Struct("=cQQqII")
_SECTOR = 512


class Call(NamedTuple):
    """A record of the log."""

    kind: str
    inode: int
    parent: int
    offset: int
    name: str
    data: bytes


def calls(log: Path) -> Iterator[Call]:
    """All of them, in order."""
    raw, place = log.read_bytes(), 0
    while place + _HEAD.size <= len(raw):
        kind, inode, parent, offset, name, data = _HEAD.unpack_from(raw, place)
        begin = place + _HEAD.size
        place = begin + name + data
        text = raw[begin : begin + name].decode()
        yield Call(kind.decode(), inode, parent, offset, text, raw[begin + name : place])


@dataclass
class Disk:
    """Files and folders by inode: what is durable, and what is not yet."""

    files: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    written: dict[int, list[Call]] = field(default_factory=lambda: defaultdict(list))
    named: dict[int, list[Call]] = field(default_factory=lambda: defaultdict(list))
    are_folders: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path) -> "Disk":
        """Return the contents of a folder, all of them durable."""
        disk = cls()
        for path in folder.rglob("*"):
            inode = path.stat().st_ino
            disk.folders[path.parent.stat().st_ino][path.name] = inode
            if path.is_dir():
                disk.are_folders.add(inode)
            else:
                disk.files[inode] = bytearray(path.read_bytes())
        return disk

    def take(self, call: Call) -> None:
        """A call has returned."""
        match call.kind:
            case "W" | "T":
                self.written[call.inode].append(call)
            case "D":
                self._write(call)
            case "S":
                for pending in self.written.pop(call.inode, []):
                    self._write(pending)
                for pending in self.named.pop(call.inode, []):
                    self._name(pending)
            case "C" | "F" | "U" | "R":
                if call.kind == "F":
                    self.are_folders.add(call.inode)
                self.named[call.parent].append(call)

    def cut(self, chance: Random) -> None:
        """The power is gone."""
        share = chance.choice((0.0, 0.5, 1.0))
        for pending in self.written.values():
            for call in pending:
                if chance.random() < share:
                    torn = chance.randrange(len(call.data) // _SECTOR + 1) * _SECTOR if chance.random() < 0.3 else None
                    self._write(call._replace(data=call.data[:torn]))
        for pending in self.named.values():
            for call in pending[: chance.randint(0, len(pending))]:
                self._name(call)

    def lay_out(self, inode: int, place: Path) -> None:
        """Write a folder and all that is in it."""
        place.mkdir()
        for name, below in self.folders[inode].items():
            if below in self.are_folders:
                self.lay_out(below, place / name)
            else:
                (place / name).write_bytes(self.files[below])

    def _write(self, call: Call) -> None:
        content = self.files[call.inode]
        if call.kind == "T":
            del content[call.offset :]
        # A hole is read as zeroes, as is what a file was made longer by.
        content.extend(bytes(max(0, call.offset - len(content))))
        content[call.offset : call.offset + len(call.data)] = call.data

    def _name(self, call: Call) -> None:
        if call.kind == "R":
            old, _, new = call.name.partition("/")
            self.folders[call.parent].pop(old, None)
            self.folders[call.offset][new] = call.inode
        elif call.kind == "U":
            self.folders[call.parent].pop(call.name, None)
        else:
            self.folders[call.parent][call.name] = call.inode


def after_a_cut(disk: Disk, log: Path, root: int, chance: Random, place: Path) -> float:
    """Lay out in `place` what is left of the folder of that inode after a cut at a random call.

    When the last commit was made that had returned by then; 0 if none had.
    """
    known, committed = list(calls(log)), 0.0
    for call in known[: chance.randint(1, len(known))]:
        if call.kind == "M":
            committed = float(call.name)
        else:
            disk.take(call)
    disk.cut(chance)
    disk.lay_out(root, place)
    return committed
