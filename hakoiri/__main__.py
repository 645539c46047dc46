"""The program: ``python -m hakoiri``, and the script ``hakoiri``. Signals are handled before anything is imported."""

import gc
import os
import signal
import sys
import time

#: Imports make some 100,000 permanent objects: a garbage collection after every 700, the default, makes them a tenth
#: slower.
_GARBAGE_AFTER = 50_000
#: Seconds: Python's times are less from UTC.
_DAY = 86_400
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback at any moment."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_GARBAGE_AFTER)
    if max(abs(time.timezone), abs(time.altzone)) >= _DAY:
        sys.exit(f"hakoiri: the time zone TZ={os.environ.get('TZ', '')!r} is a day or more from UTC; set another")
    from hakoiri.worker.machine import ONE_THREAD

    # Must be set before numpy is imported.
    os.environ |= ONE_THREAD | os.environ
    from hakoiri.cli.app import is_apart, start_again, tell_end
    from hakoiri.cli.app import main as run
    from hakoiri.puzzles.user.files import StartAgain, prefer

    try:
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _interrupted)
        prefer(not is_apart())
        try:
            run()
        finally:
            tell_end()
    except StartAgain:
        start_again()
    except KeyboardInterrupt:
        _end()
    finally:
        # The interpreter, too, takes time to exit, and 25 ms more if it collects the garbage of all modules.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.freeze()


def _interrupted(_: int, frame: "FrameType | None") -> None:
    """Raise ``KeyboardInterrupt``, or end at once during an import, which may catch it or be left half done.

    Commands with work in progress install their own handler (`hakoiri.cli.driving.stopping_with`).
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _end()
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(lost: "Any") -> None:
    """Handle an exception raised where it cannot be caught, as in a destructor: Ctrl-C ends there, too."""
    if lost.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(lost)


def _end() -> None:
    """End by the default handler of Ctrl-C, so that shells see the signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
