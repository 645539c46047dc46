"""A line about a user's function that does not return: without it, a loop that never ends looks like a long search."""

import sys
import threading
import time
from pathlib import Path
from types import FrameType

#: Between two looks at the threads; after so many at one call, a line is printed.
_LOOK_SECONDS, _LOOKS = 1, 5
_HOME = str(Path(__file__).parents[2])
#: Functions that may run as long as the search: generators of whole spaces, and files while they are executed.
_LONG = ("configurations", "<module>")
_files = set[str]()


def watch(file: str) -> None:
    """Print a line on standard error for each call of a function of `file` that lasts for five seconds."""
    if not _files:
        threading.Thread(target=_look, name="watch", daemon=True).start()
    _files.add(file)


def _look() -> None:
    calls: dict[int, tuple[FrameType, int]] = {}
    while True:
        time.sleep(_LOOK_SECONDS)
        found: dict[int, tuple[FrameType, int]] = {}
        for thread, frame in sys._current_frames().items():
            call, line = _call_in(frame)
            if call is None or call.f_code.co_name in _LONG:
                continue
            before, looks = calls.get(thread, (None, 0))
            found[thread] = call, (looks if before is call else 0) + 1
            if found[thread][1] == _LOOKS + 1:
                where = f"{call.f_code.co_name} of {Path(call.f_code.co_filename).name}, line {line},"
                print(f"hakoiri: {where} has not returned for {_LOOKS} s", file=sys.stderr, flush=True)
        calls = found


def _call_in(frame: FrameType | None) -> tuple[FrameType | None, int]:
    """Return the call from Hakoiri to a watched file that a thread is in, and its line; ``None`` if it is in none."""
    call, line = None, 0
    while frame is not None and not (file := frame.f_code.co_filename).startswith(_HOME):
        if "/numba/" in file:
            # It compiles.
            return None, 0
        if file in _files:
            call, line = frame, line or frame.f_lineno
        frame = frame.f_back
    return (call, line) if frame is not None else (None, 0)
