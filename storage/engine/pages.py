"""Mapped files and the memory of this process: pages once read stay in its resident set until they are let go."""

import ctypes
import functools
from pathlib import Path

_DONTNEED = 4


@functools.cache
def _libc() -> ctypes.CDLL | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    except (OSError, AttributeError):
        return None
    return libc


def forget_mapping(path: Path) -> None:
    """Take the pages of a mapped file out of the resident set; they stay in the system's cache. Linux; else nothing.

    Safe at any moment: for a shared mapping of a file, MADV_DONTNEED only lets the next read find the page again.
    """
    libc, name = _libc(), str(path)
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    if libc is None:
        return
    for line in maps.splitlines():
        if line.endswith(name):
            begin, end = (int(part, 16) for part in line.split(maxsplit=1)[0].split("-"))
            libc.madvise(begin, end - begin, _DONTNEED)
