"""`shim.c`, compiled where there is a compiler, and what a forked process asks of it."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from campaigns.mayhem.trials import ImpossibleError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State

#: Kinds of calls, as in the source: writes and cuts, what makes them durable, names made and changed, reads.
WRITES, SYNCS, NAMES, READS = 1, 2, 4, 8
#: The variable that names the clock of a program that is started.
CLOCK = "MAYHEM_CLOCK"
_SOURCE = Path(__file__).with_name("shim.c")
_INSTALL = _SOURCE.parents[2] / "scripts" / "apt-install"


def preload(place: Path) -> None:
    """Have every process that is started from now on load it, if it can be compiled."""
    if not shutil.which("cc"):
        subprocess.run([_INSTALL, "gcc", "libc6-dev"], check=False, capture_output=True)
    if shutil.which("cc"):
        library = place / "shim.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, _SOURCE, "-ldl", "-lpthread"], check=True)
        os.environ["LD_PRELOAD"] = str(library)


def require_preloaded() -> None:
    """Raise `ImpossibleError` unless `preload` has done it."""
    if "LD_PRELOAD" not in os.environ:
        raise ImpossibleError("no C compiler (cc) is here")


def arm(
    before: Callable[[], object] | None, folder: Path, kinds: int, number: int, failure: int, for_good: bool,
    counter: Path, log: Path | None,
) -> None:  # fmt: skip
    """In a forked process: as `shim_arm` says; and each commit that has returned is marked in the log."""
    if before is not None:
        before()
    library = ctypes.CDLL(None)
    if log is not None:
        _mark_commits(library, folder)
    library.shim_arm(
        os.fsencode(folder), kinds, ctypes.c_long(number), failure, int(for_good), os.fsencode(counter),
        os.fsencode(log or ""),
    )  # fmt: skip


def _mark_commits(library: ctypes.CDLL, data: Path) -> None:
    commit = Ledger.commit

    def marked(ledger: Ledger, state: State) -> None:
        commit(ledger, state)
        # What a study measures lies in runs of its own, below it.
        if ledger.directory.parent == data:
            library.shim_mark(repr(ledger.state.updated).encode())

    Ledger.commit = marked  # type: ignore[method-assign,assignment]


def be_on_clock(before: Callable[[], object] | None, clock: Path) -> None:
    """In a forked process: go by a clock to which the seconds in a file are added, as they are at each moment."""
    if before is not None:
        before()
    ctypes.CDLL(None).shim_clock(os.fsencode(clock))
