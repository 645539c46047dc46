"""Drives a run in a process of its own, which is all that a puzzle, or whatever ended the last one, can end."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.errors import HakoiriError, Hint, visible
from hakoiri.puzzles.user.files import FILES, configured_files, load_file, loaded_files
from hakoiri.storage.errors import GoneError, RunHeldError, StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import ENDED, State
from hakoiri.worker.errors import TaskError
from hakoiri.worker.parent import end_with

_LOOK_SECONDS = 0.5
#: How long the process may take to commit when it is to stop; a call into C cannot be interrupted.
_GRACE_SECONDS = 30.0
#: Environment variable with the URL of Redis, which may hold a password and so is not an argument.
_REDIS = "HAKOIRI_REDIS"
#: Exit code: the run is driven by another process, or is deleted.
_HELD = 75


class DiedError(TaskError):
    """The process of a run ended by itself before its work was done."""


def drive_apart(directory: Path, resources: Resources, control: Control) -> State:
    """Drive a queued run in a child process until it ends, is cancelled or `control` is interrupted.

    Returns its last state. The process is killed if it does not stop within 30 seconds. Raises `DiedError` if the
    process ended amid the work, `TaskError` if it was killed, and `RunHeldError` if another process drives the run.
    """
    files = ":".join(map(str, dict.fromkeys([*configured_files(), *loaded_files()])))
    own = {FILES: files, "HAKOIRI_SUPERVISOR": str(os.getpid()), _REDIS: resources.redis or ""}
    settings = json.dumps({name: getattr(resources, name) for name in ("workers", "memory")})
    command = [sys.executable, "-P", "-m", __name__, str(directory), settings]
    with subprocess.Popen(command, env=os.environ | own, stdin=subprocess.DEVNULL, start_new_session=True) as child:
        stop_by = 0.0
        while child.poll() is None:
            if not stop_by and (control.interrupted or _is_cancelled(directory)):
                child.send_signal(signal.SIGTERM)
                stop_by = time.monotonic() + _GRACE_SECONDS
            elif stop_by and time.monotonic() > stop_by:
                child.kill()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_SECONDS)
    if child.returncode == _HELD:
        raise RunHeldError(f"run {directory.name} is held by another process", Hint("cancel", directory.name))
    with Ledger(directory) as ledger:
        state = ledger.state
    died = child.returncode < 0 and not stop_by and state.status not in ENDED
    if state.status == "running" or died:
        how = f"by {signal.Signals(-child.returncode).name}" if child.returncode < 0 else f"with {child.returncode}"
        text = f"the process of the run ended {how} before its work was done"
        raise TaskError(text) if stop_by else DiedError(text)
    return state


def _is_cancelled(directory: Path) -> bool:
    """Return whether a cancel is requested; the child polls only between chunks, and one may never end."""
    with suppress(FileNotFoundError, StorageError), Ledger(directory) as ledger:
        return ledger.cancel_requested()
    return False


class _Log(SilentObserver):
    def note(self, text: str, *hints: Hint) -> None:
        print(visible(text), file=sys.stderr, flush=True)


def main(directory: str, settings: str) -> None:
    """Drive a queued run for the process that started this one."""
    end_with(int(os.environ["HAKOIRI_SUPERVISOR"]))
    control = Control()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: control.interrupt(f"stopped by {signal.Signals(received).name}"))
    fields: dict[str, Any] = json.loads(settings)
    try:
        for path in configured_files():
            load_file(path)
        drive(Path(directory), Resources(redis=os.environ[_REDIS] or None, **fields), control, _Log(), awaited=True)
    except (RunHeldError, GoneError):
        sys.exit(_HELD)
    except (HakoiriError, MemoryError) as error:
        with Ledger(Path(directory)) as ledger:
            told = ledger.state.reason
        if str(error) not in told:
            _Log().note(f"run {Path(directory).name}: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
