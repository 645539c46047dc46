"""The program: ``python -m hakoiri``, and the script ``hakoiri``. Signals are seen to before anything is imported."""

import gc
import os
import signal
import sys

#: Imports make some 100,000 objects that stay: looked through for garbage after every 700, as usual, they take a tenth
#: longer.
_GARBAGE_AFTER = 50_000
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def main() -> None:
    """The command line; Ctrl-C ends it without a traceback from its first moment to its last."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_GARBAGE_AFTER)
    from hakoiri.worker.machine import ONE_THREAD

    # Before numpy is imported.
    os.environ |= ONE_THREAD | os.environ
    from hakoiri.cli import apart
    from hakoiri.cli.app import main as run
    from hakoiri.puzzles.user.apart import StartAgain, prefer

    try:
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _interrupted)
        prefer(not apart.is_apart())
        try:
            run()
        finally:
            apart.tell_end()
    except StartAgain:
        apart.start_again()
    except KeyboardInterrupt:
        _end()
    finally:
        # The interpreter, too, takes some time to leave; and 25 ms more if it searches all modules for garbage.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.freeze()


def _interrupted(_: int, frame: "FrameType | None") -> None:
    """Raise ``KeyboardInterrupt``, or end at once while a module is imported, which may catch it or be left in pieces.

    Commands that have work in hand put their own handler in place of this (`hakoiri.cli.driving.stopping_with`).
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _end()
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(lost: "Any") -> None:
    """What was raised where nobody can catch it, as in a destructor: Ctrl-C counts there, too."""
    if lost.exc_type is KeyboardInterrupt:
        _end()
    sys.__unraisablehook__(lost)


def _end() -> None:
    """End as a program does that knows nothing of signals: shells see that it was Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
