"""Small disks: a file system of its own where one may mount, and everywhere one whose files are counted.

A write itself fails only on the former. What Hakoiri asks of a disk before it writes fails on both alike. A page fault
fails only on a disk that is full to its last block (`mounted_disk`, `fill_disk`).
"""

import errno
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

KINDS = ("counted", "mounted")
#: In a mounted disk: what takes the room.
FILLER = ".filler"
#: Real file systems, and their blocks in bytes.
FILE_SYSTEMS = {"tmpfs": 4096, "ext4": 4096, "ext4 of 1 kB blocks": 1024}


class SmallDisk(NamedTuple):
    """A directory, and the function that a forked command calls before it writes there."""

    place: Path
    before: Callable[[], object] | None


@contextmanager
def small_disk(kind: str, place: Path, size: int) -> Iterator[SmallDisk]:
    """An empty disk of `size` bytes; skips where a mounted one cannot be had, as the counted one can."""
    place.mkdir()
    if kind == "counted":
        yield SmallDisk(place, partial(count_files, place, size))
        return
    with mounted_disk("tmpfs", place, size) as refused:
        if refused:
            pytest.skip(f"mount is refused here, the counted disk must do: {refused}")
        yield SmallDisk(place, None)


@contextmanager
def mounted_disk(kind: str, place: Path, size: int) -> Iterator[str]:
    """Mount an empty file system at a directory; why it cannot be had here, or nothing."""
    image, block = place.with_name(f"{place.name}.image"), FILE_SYSTEMS[kind]
    made = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if kind != "tmpfs":
        with image.open("wb") as file:
            file.truncate(size)
        # Nothing is kept for root, or for later: what is free can be had.
        make = ["mkfs.ext4", "-q", "-m", "0", "-b", str(block), "-E", "lazy_itable_init=0", str(image)]
        mount = ["mount", "-o", "loop", str(image), str(place)]
        made = ["sh", "-c", f"{shlex.join(make)} && {shlex.join(mount)}"]
    mounted = subprocess.run(made, capture_output=True, text=True, check=False)
    try:
        yield mounted.stderr.strip() if mounted.returncode else ""
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", "--lazy", place], check=True)
        image.unlink(missing_ok=True)


def fill_disk(place: Path, left: int) -> None:
    """Write a file to a mounted disk so that so many bytes are free, rounded to blocks."""
    filler, step = place / FILLER, 1 << 20
    with filler.open("ab", buffering=0) as file:
        while step >= 512:
            try:
                while free_on(place) - step >= left:
                    file.write(os.urandom(step))
                    os.fsync(file.fileno())
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            step >>= 1


def free_on(place: Path) -> int:
    """The bytes that are free on a mounted disk."""
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def count_files(place: Path, size: int) -> None:
    """From now on tell whoever asks that the disk has `size` bytes, of which the files below `place` take theirs."""
    usage = shutil.disk_usage

    def counted(path: Path) -> "shutil._ntuple_diskusage":
        taken = taken_below(place)
        return usage(path)._replace(total=size, used=taken, free=max(0, size - taken))

    vars(shutil)["disk_usage"] = counted


def taken_below(folder: "Path | str") -> int:
    """Return the bytes on disk of the files below a folder."""
    with os.scandir(folder) as entries:
        return sum(taken_below(one.path) if one.is_dir() else one.stat().st_blocks * 512 for one in entries)
