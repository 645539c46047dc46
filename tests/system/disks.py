"""Small disks: a file system of its own where one may mount, and everywhere one whose files are counted.

A write itself fails only on the former. What Hakoiri asks of a disk before it writes fails on both alike.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

KINDS = ("counted", "mounted")


class SmallDisk(NamedTuple):
    """Where it is, and what a forked command that writes there does before it begins."""

    place: Path
    before: Callable[[], object] | None


@contextmanager
def small_disk(kind: str, place: Path, size: int) -> Iterator[SmallDisk]:
    """An empty disk of `size` bytes; skips where a mounted one cannot be had, as the counted one can."""
    place.mkdir()
    if kind == "counted":
        yield SmallDisk(place, partial(count_files, place, size))
        return
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mount is refused here, the counted disk must do: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(place, None)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def count_files(place: Path, size: int) -> None:
    """From now on tell whoever asks that the disk has `size` bytes, of which the files below `place` take theirs."""
    usage = shutil.disk_usage

    def counted(path: Path) -> "shutil._ntuple_diskusage":
        taken = taken_below(place)
        return usage(path)._replace(total=size, used=taken, free=max(0, size - taken))

    shutil.disk_usage = counted


def taken_below(folder: "Path | str") -> int:
    """What the files below a folder take on disk."""
    with os.scandir(folder) as entries:
        return sum(taken_below(one.path) if one.is_dir() else one.stat().st_blocks * 512 for one in entries)
