"""Commands that execute a user's puzzle run in a child process, so that its end is always reported."""

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import NoReturn

from hakoiri.cli.app import ERROR
from hakoiri.render.streams import print_error

#: Environment variable with the descriptor that the child writes to when it ends by itself.
_ENDING = "HAKOIRI_ENDING"
#: Environment variable with the parent process, which `follow_supervisor` watches.
_PARENT = "HAKOIRI_SUPERVISOR"
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


#: The descriptor to report that this process ends by itself; empty if no parent waits for that.
_telling: list[int] = []


def is_apart() -> bool:
    """Return whether another process started this one, and outlives it. Clears the mark for its own children."""
    if (number := os.environ.pop(_ENDING, "")).isdigit():
        _telling.append(int(number))
    return _PARENT in os.environ


def start_again() -> NoReturn:
    """Run this command in a child process and exit as it does; with an error if it did not end by itself.

    Signals to this process are forwarded; the child has a session of its own, so that Ctrl-C reaches it once.
    """
    told, telling = os.pipe()
    environment = os.environ | {_ENDING: str(telling), _PARENT: str(os.getpid())}
    command = [sys.executable, "-P", "-m", "hakoiri", *sys.argv[1:]]
    child = subprocess.Popen(command, env=environment, pass_fds=[telling], start_new_session=True)
    os.close(telling)

    asked = set[int]()

    def forward(number: int, _: FrameType | None) -> None:
        asked.add(-number)
        child.send_signal(number)

    def pause(_: int, __: FrameType | None) -> None:
        os.killpg(child.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child.pid, signal.SIGCONT)

    for number in _FORWARDED:
        signal.signal(number, forward)
    signal.signal(signal.SIGTSTP, pause)
    code = child.wait()
    with open(told, "rb") as ended:
        expected = ended.read() or code in asked
    if not expected:
        print_error(_words(code))
        sys.exit(128 - code if code < 0 else code or ERROR)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def tell_end() -> None:
    """Tell the parent process that the command ends by itself, whatever its exit code."""
    while _telling:
        os.write(_telling.pop(), b".")


def _words(code: int) -> str:
    how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return f"the process that ran your puzzle ended {how}, which Hakoiri did not ask for"
