"""Logs that cannot be written: stderr on a full disk, or on a pipe whose reader has left or leaves."""

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
from campaigns.mayhem.trials import Measure
from tests.system.helpers import Running, wait_until
from tests.system.web_servers import ADDRESS

_PIPE = "log"


def lose_log(before: Callable[[], object] | None, log: str) -> None:
    """In a forked process: have a file as stderr, which may be a pipe, after whatever else is done before."""
    if before is not None:
        before()
    file = os.open(log, os.O_WRONLY)
    if stat.S_ISFIFO(os.fstat(file).st_mode):
        # Whoever waits for its being open sees that it has no name any more.
        Path(log).unlink()
    os.dup2(file, 2)
    os.close(file)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


@contextmanager
def _log(scene: Scene, kind: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """The name of a log of some kind, and what takes its reader away."""
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
    return scene.start("coordinator", "--threads", "--burst")


def _worker(scene: Scene, log: str) -> Running:
    scene.farm(before=partial(lose_log, None, log))
    running = scene.drive()
    if scene.let_work(running, scene.seconds):
        # Its supervisor says so.
        scene.kill_one(data_redis=False)
    return running


def _web_server(scene: Scene, log: str) -> Running:
    scene.queue()
    scene.before = partial(lose_log, scene.work.before, log)
    return scene.start("serve", *ADDRESS)


_STARTS = {"run": _run, "coordinator": _coordinator, "worker": _worker, "web server": _web_server}


def _without_log(scene: Scene, process: str, kind: str) -> None:
    """The log of a process is lost from the first moment on, or at a random one; it ends as if it were not."""
    with _log(scene, "full" if kind == "full" else "pipe") as (log, leave):
        running = _STARTS[process](scene, log)
        if kind == "left at some time":
            scene.let_work(running, scene.seconds)
        # Who opens a pipe for writing waits until somebody reads it.
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
    """A trial is a run of one kind, and one of those that take part has a log that cannot be written."""

    name, usual, short = "logs", 192, (0,)
    headings = ("whose log is lost, and how", "run")
    ways: ClassVar = {
        f"{process}: {kind}": partial(_without_log, process=process, kind=kind)
        for kind, process in product(("full", "nobody reads", "left at some time"), _STARTS)
    }
    measures: ClassVar = {"harms": Measure("logs lost"), "twice": Measure("made twice")}
    text = """\
What a run, a coordinator, a worker with its supervisor, or the server on the web says on stderr cannot be written: the
disk is full, or the pipe's reader leaves, at once or at a random moment. It must end with 0 all the same, the server
and the supervisor when they are asked to, and the run as one that nobody disturbed."""
