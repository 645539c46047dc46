"""A forked child, as `subprocess.Popen` would have it."""

import os
import signal

from tests.support.commands import PATIENCE_SECONDS
from tests.support.forked import fork


def test_no_signal_is_sent_to_one_that_is_gone() -> None:
    """As from a fork server, which has waited for its child before it tells the exit code."""
    child = fork(int)
    os.waitpid(child.pid, 0)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)


def test_a_signal_that_comes_before_the_child_has_begun_ends_it() -> None:
    """Also where the parent handles it."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        for _ in range(50):
            child = fork(signal.pause)
            child.terminate()
            assert child.wait(PATIENCE_SECONDS) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
