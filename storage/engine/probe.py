"""Is a data file safe to map? Asked in a child process, because the answer may be SIGBUS.

LMDB trusts its file: beyond a truncated end, or behind a damaged page number, a read kills the process. So the child
walks every page of the trees first; if it dies, the file is damaged and we are not. For each path given as argument
the child prints a line: empty for a sound file, else what LMDB said.
"""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from storage.engine.environment import damaged
from storage.errors import StorageError
from storage.names import DATA_FILE

_PAGE = 4096


def require_sound(directory: Path) -> None:
    """Raise `DamagedError` if the data file of a run cannot be read through. 50 ms; more for many gigabytes."""
    (fault,) = find_faults([directory])
    if fault:
        raise damaged(directory, fault)


def find_faults(directories: Sequence[Path]) -> list[str]:
    """For each run directory what is wrong with its data file, or an empty string."""
    faults: list[str] = []
    while len(faults) < len(directories):
        rest = directories[len(faults) :]
        # A fresh interpreter and no fork: threads and LMDB environments must not be inherited.
        child = subprocess.run(
            [sys.executable, "-P", "-m", "storage.engine.probe", *map(str, rest)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        lines = child.stdout.splitlines()
        faults += lines
        if child.returncode == 0 and len(lines) == len(rest):
            break
        if child.returncode >= 0:
            raise StorageError(f"the check of the data files failed: {child.stderr.strip().splitlines()[-1:]}")
        faults.append(f"reading it ends in {signal.strsignal(-child.returncode)}: truncated or overwritten pages")
    return faults


def _walk(directory: Path) -> None:
    import lmdb

    from storage.engine.environment import Environment

    environment = Environment(directory, writable=False)
    info = environment._lmdb.info()
    needed = (info["last_pgno"] + 1) * environment._lmdb.stat()["psize"]
    # Touch each page of the values only where some may be missing; else their CRCs will tell, when they are read.
    step = _PAGE if (directory / DATA_FILE).stat().st_size < needed else 0
    with environment.transaction() as transaction:
        for database in environment.databases.values():
            for _, value in lmdb.Cursor(database, transaction):
                _touch(value, step or max(len(value) - 1, 1))
    environment.close()


def _touch(value: memoryview, step: int) -> None:
    for place in range(0, len(value), step):
        value[place]


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        try:
            _walk(Path(argument))
        except (StorageError, OSError) as error:
            print(error.__cause__ or error, flush=True)
        else:
            print(flush=True)
