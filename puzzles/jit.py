"""The one door to numba: compiled kernels that release the GIL and are cached on disk.

numba's cache sees an edit of the file that holds a kernel, but not of the modules that the kernel imports
(numba#9483), so the cache directory carries a digest of all source files: another source, another directory.
``NUMBA_CACHE_DIR`` in the environment wins. Filling the cache from several processes at once can crash
(numba#4807); ``worker.warm`` therefore fills it under a lock before workers start.
"""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

_PACKAGES = ("puzzles", "storage", "worker")
_LOCK_FILE = "warming"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def source_digest() -> str:
    """What tells this source from any other."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory() -> Path:
    """The directory of compiled kernels for exactly this source, created if it was not there.

    Where it cannot be written (a read-only home), a new private temporary folder: slower to start, never shared,
    because compiled kernels are code.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    wanted = Path(given or Path(platformdirs.user_cache_dir("hakoiri")) / "kernels" / source_digest())
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError:
        return Path(tempfile.mkdtemp(prefix="hakoiri-kernels-"))


@contextmanager
def compiling() -> Iterator[None]:
    """While the block runs, no other process compiles, as long as all do it in such a block."""
    with open(cache_directory() / _LOCK_FILE, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# IMPORTANT: set before numba is imported, which reads it once.
os.environ["NUMBA_CACHE_DIR"] = str(cache_directory())

import numba  # noqa: E402
from numba import extending, types  # noqa: E402

__all__ = ["cache_directory", "compiling", "intrinsic", "jit", "source_digest", "types"]


def intrinsic(function: Callable[[Any, Any], Any]) -> Any:
    """A function of one argument that kernels have from LLVM's own instructions; see `puzzles.keys.bits`."""
    made: Any = extending.intrinsic(function)
    return made


def jit(function: _Function) -> _Function:
    """`function` compiled by numba: nopython, no GIL while it runs, cached, never parallel (chunks are)."""
    settings: Any = numba.config
    usual = settings.CACHE_DIR
    if function.__module__.partition(".")[0] not in _PACKAGES:
        # numba takes a file for unchanged by its time and size; the name of this module stands for its contents.
        settings.CACHE_DIR = str(Path(usual) / function.__module__)
    try:
        compiled: _Function = numba.njit(function, cache=True, nogil=True)
    finally:
        settings.CACHE_DIR = usual
    return compiled
