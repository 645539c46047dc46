"""The memory that this process may take, and what tables of puzzles may take of it: counted before they are made.

Files of control groups: https://docs.kernel.org/admin-guide/cgroup-v2.html (`memory.max`), and of the first version
https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, where each controller has a tree of its own.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from hakoiri.errors import Hint, OverBudgetError

#: Environment variable: the limit of tables of puzzles for a child, in bytes.
TABLES = "HAKOIRI_TABLES"
_CGROUPS, _MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def available_memory() -> int:
    """Return the bytes that this process and its children can take before the system or a control group runs out."""
    import psutil

    return int(min([psutil.virtual_memory().available, *memory_left()]))


def memory_left(root: Path = _CGROUPS, mine: Path = _MINE) -> Iterator[int]:
    """Yield the bytes that each cgroup of this process with a limit has left.

    Inactive cached files count as used in a cgroup, but are dropped at once when memory is needed.
    """
    for folder in groups("memory", root, mine):
        for limit, usage, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most, used = text_of(folder / limit).strip(), text_of(folder / usage).strip()
            if most.isdecimal() and used.isdecimal():
                statistics = dict(line.split() for line in text_of(folder / "memory.stat").splitlines())
                yield max(0, int(most) - int(used) + int(statistics.get(cached, 0)))


def groups(controller: str, root: Path = _CGROUPS, mine: Path = _MINE) -> Iterator[Path]:
    """Yield the folders of the cgroups of this process for `controller`, the innermost first."""
    for line in text_of(mine).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # In the first version each controller has a tree of its own. In a container the path may be one of the host.
        top = root / controller if controllers else root
        group = top / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


#: Parameters of glibc's ``mallopt``, with values: the free memory at its end that the heap keeps, the size from which a
#: block is mapped on its own, and the number of heaps.
_KEPT = {-1: 256 << 20, -3: 32 << 20, -8: 1}


def keep_memory() -> None:
    """Have the allocator keep what is freed: the system clears each page that it gives again.

    Without glibc, nothing changes. See https://man7.org/linux/man-pages/man3/mallopt.3.html.
    """
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
        for name, value in _KEPT.items():
            set_option(name, value)


def text_of(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    with suppress(OSError):
        return file.read_text(encoding="utf-8")
    return ""


def require_memory(what: str, needed: int, most: int) -> None:
    """Raise `OverBudgetError` if `what` needs more bytes than `most`."""
    if needed > most:
        raise OverBudgetError(
            f"{what} needs {needed:,} bytes of memory, above the limit of {most:,}",
            Hint("give", "memory", f"{(needed * 5 // 4 >> 20) + 1}MB"),
        )


@dataclass
class _Account:
    """Bytes that the tables of the puzzle being built take, and the most that they may."""

    most: int
    taken: int = 0


_limit: ContextVar[int | None] = ContextVar("limit", default=None)
_tables: ContextVar[_Account | None] = ContextVar("tables", default=None)


@contextmanager
def limited_tables(most: int | None) -> Iterator[None]:
    """Limit the tables of each puzzle built in the block, and in children started there; ``None`` changes nothing."""
    before = _limit.set(_limit.get() if most is None else most)
    try:
        yield
    finally:
        _limit.reset(before)


def limit_for_children() -> dict[str, str]:
    """Return the variable by which a child has the limit of `limited_tables`, if there is one."""
    return {} if (most := _limit.get()) is None else {TABLES: str(most)}


@contextmanager
def one_puzzle() -> Iterator[None]:
    """Count together what `claim` claims in the block."""
    given = _limit.get()
    if given is None and (inherited := os.environ.get(TABLES, "")).isdecimal():
        given = int(inherited)
    before = _tables.set(_Account(available_memory() // 2 if given is None else given))
    try:
        yield
    finally:
        _tables.reset(before)


def claim(what: str, needed: int) -> None:
    """Count bytes that `what`, a table of the puzzle being built, is about to take; `OverBudgetError` if too many."""
    if (tables := _tables.get()) is not None:
        tables.taken += needed
        if tables.taken > tables.most:
            # The tables are counted one after another, so their sum is not known yet.
            text = f"{what} needs at least {tables.taken:,} bytes of memory, above the limit of {tables.most:,}"
            raise OverBudgetError(text, Hint("raise", "memory"))
