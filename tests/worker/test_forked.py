"""A forked child, as `subprocess.Popen` would have it."""

import os
import signal

from hakoiri.worker.transport.forked import fork


def test_no_signal_is_sent_to_one_that_is_gone() -> None:
    """As from a fork server, which has waited for its child before it tells the exit code."""
    child = fork(int)
    os.waitpid(child.pid, 0)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
