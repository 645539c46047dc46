"""Logs that cannot be written: stderr on a full disk, or on a pipe that its reader closes."""

import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import ClassVar

from campaigns.mayhem.scene import MOST_SECONDS, Disturbed, Scene
from campaigns.mayhem.trials import TWICE, Measure
from tests.support.commands import Running, wait_until
from tests.support.web import ADDRESS

_PIPE = "log"


def lose_log(before: Callable[[], object] | None, log: str) -> None:
    """In a forked process: call `before`, then make the file or pipe `log` stderr."""
    if before is not None:
        before()
    file = os.open(log, os.O_WRONLY)
    if stat.S_ISFIFO(os.fstat(file).st_mode):
        # That the name is gone tells the campaign that the pipe is open.
        Path(log).unlink()
    os.dup2(file, 2)
    os.close(file)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


@contextmanager
def _log(scene: Scene, kind: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of a log of some kind, and a call that closes its reading end."""
    if kind == "full":
        yield "/dev/full", lambda: None
        return
    os.mkfifo(pipe := scene.place / _PIPE)
    reader = [os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)]

    def leave() -> None:
        for each in reader:
            os.close(each)
        reader.clear()

    try:
        yield str(pipe), leave
    finally:
        leave()


def _run(scene: Scene, log: str) -> Running:
    scene.before = partial(lose_log, scene.work.before, log)
    return scene.drive()


def _coordinator(scene: Scene, log: str) -> Running:
    scene.queue()
    scene.before = partial(lose_log, scene.work.before, log)
    return scene.coordinate()


def _worker(scene: Scene, log: str) -> Running:
    scene.farm(before=partial(lose_log, None, log))
    running = scene.drive()
    if scene.let_work(running, scene.seconds):
        # So that its supervisor logs a line.
        scene.kill_one(data_redis=False)
    return running


def _web_server(scene: Scene, log: str) -> Running:
    scene.queue()
    scene.before = partial(lose_log, scene.work.before, log)
    return scene.start("serve", *ADDRESS)


_KINDS = ("full", "pipe closed at first", "pipe closed later")
_STARTS = {"run": _run, "coordinator": _coordinator, "worker": _worker, "web server": _web_server}


def _without_log(scene: Scene, process: str, kind: str) -> None:
    """Make the log of a process fail from the start or from a random moment on; the process must end with 0."""
    with _log(scene, "full" if kind == "full" else "pipe") as (log, leave):
        running = _STARTS[process](scene, log)
        if kind == "pipe closed later":
            scene.let_work(running, scene.seconds)
        # Opening a pipe for writing blocks until it has a reader.
        wait_until(lambda: not (scene.place / _PIPE).exists(), MOST_SECONDS, "the log to be open")
        leave()
        scene.outcome.figures["harms"] += 1
        if process == "web server":
            wait_until(
                lambda: scene.standing().state.status == "complete" or running.process.poll() is not None,
                MOST_SECONDS, "the run to end",
            )  # fmt: skip
            running.send(signal.SIGTERM)
        scene.finish(running)
        for host in scene.hosts:
            host.send(signal.SIGTERM)
            scene.finish(host)


class Logs(Disturbed):
    """A trial is a run of one kind, and a process whose log cannot be written."""

    name, usual, short = "logs", 276, (0,)
    headings = ("process, and its stderr", "run")
    by_workers: ClassVar = tuple(f"worker: {kind}" for kind in _KINDS)
    ways: ClassVar = {
        f"{process}: {kind}": partial(_without_log, process=process, kind=kind)
        for kind, process in product(_KINDS, _STARTS)
    }
    measures: ClassVar = {"harms": Measure("logs lost"), **TWICE}
    text = """\
A run, a coordinator, a worker with its supervisor, or the web server cannot write its stderr: the disk is full, or the
pipe's reader closes it, at first or at a random moment. Each process must still end with 0, the web server and
the supervisor when they are asked to, and the run must find the same as an undisturbed run."""
