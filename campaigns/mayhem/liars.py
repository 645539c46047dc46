"""Workers of other code, or with wrong answers: refused, or found by an audit."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import TWICE, Measure
from campaigns.mayhem.works import FOR_WORKERS, OWN_FILE, by_workers
from hakoiri.puzzles.user.files import FILES
from hakoiri.worker.machine import end_with
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import ROOT, Running, clean_environment, wait_until

#: Changes of a worker's code: in a puzzle's class, kernel or table, a task, the coding, the version of Python.
OTHER = {
    "version": "from hakoiri.puzzles.sliding_blocks.klotski import Klotski as Changed; Changed.version = 0",
    "moves": "from hakoiri.puzzles.contract import Puzzle as Changed; Changed.most_successors = 1",
    "kernel": (
        "from hakoiri.keys import order; from hakoiri.compiling import jit\n"
        "@jit\ndef changed(keys):\n    return keys\norder.sort_keys = changed"
    ),
    "table": "from hakoiri.worker import tasks; tasks.TASKS['neighbours'] = tasks.TASKS['forest']",
    "task": "from hakoiri.worker.graphs import searches; searches.UNSEEN = -{number}",
    "coding": "from hakoiri.storage.layers import blocks; blocks.HEADER_BYTES += {number}",
    "digest": "from hakoiri.storage.layers import blocks; blocks.lanes_of = lambda keys: ({number}, 0)",
    "payload": "from hakoiri.worker.transport import payload; payload._DTYPES['<u{number}'] = None",
    "Python": (
        "import types; from hakoiri.worker import program\nprogram.sys = types.SimpleNamespace("
        "**vars(program.sys) | {{'version_info': types.SimpleNamespace(major=3, minor={number})}})"
    ),
    "field": "from hakoiri.worker import rq_worker; rq_worker.TaskRequest = lambda session, token: None",
}
#: The changes that affect only runs of klotski.
_OF_KLOTSKI = ("version", "moves")
#: Leaves a file when the other worker reports a chunk as refused or done.
_MARKS = """
import pathlib
from hakoiri.worker import rq_worker

def marked(kind, *rest, event=rq_worker.Event):
    pathlib.Path({place!r}, f"other-{{kind}}").touch()
    return event(kind, *rest)

rq_worker.Event = marked
"""
#: A worker that accepts any request, and omits one successor in a share of its batches. Most omitted successors are
#: found elsewhere or known already, so it computes each right answer first, and leaves a file if its own one differs.
_LIES = """
import pathlib
import random
import numpy as np
from hakoiri.worker import tasks
from hakoiri.worker import doing
from hakoiri.puzzles.sliding_blocks.klotski import Klotski as Changed

doing.differing_parts = lambda mine, asked: []
chance, honest, lying = random.Random({number}), Changed.expand, []

def expand(self, keys):
    found = honest(self, keys)
    if not lying or not len(found.successors) or chance.random() > {share}:
        return found
    successors, counts = found
    place = chance.randrange(len(successors))
    counts = counts.copy()
    counts[np.searchsorted(np.cumsum(counts), place, side="right")] -= 1
    return type(found)(np.delete(successors, place, axis=0), counts)

def flat(made):
    if isinstance(made, dict):
        return [list(made), flat(list(made.values()))]
    return [flat(each) for each in made] if isinstance(made, (list, tuple)) else np.asarray(made).tobytes()

def marking(work):
    def answer(*given):
        right = work(*given)
        lying.append(True)
        told = work(*given)
        lying.clear()
        if flat(right) != flat(told):
            pathlib.Path({mark!r}).touch()
        return told
    return answer

Changed.expand = expand
for task in tasks.TASKS.values():
    task.work = marking(task.work)
"""


@contextmanager
def other_worker(url: str, program: str, **environment: str) -> Iterator[None]:
    """Run another worker process, whose main module begins with `program`, while the block runs."""
    text = f"{program}\nfrom hakoiri.worker.main import main\nmain()"
    other = subprocess.Popen(
        [sys.executable, "-c", text], env=clean_environment(HAKOIRI_REDIS=url, **environment), cwd=ROOT,
        stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        preexec_fn=partial(end_with, os.getpid()),  # noqa: PLW1509
    )  # fmt: skip
    try:
        yield
    finally:
        other.kill()
        other.wait()


@contextmanager
def _beside(scene: Scene, program: str) -> Iterator[None]:
    """Run another worker that knows the user's puzzle; it lives when the block begins."""
    before = living_workers(scene.one_redis.client).keys()
    with other_worker(scene.url, program, **{FILES: str(OWN_FILE)}):
        wait_until(lambda: living_workers(scene.one_redis.client).keys() - before, what="the other worker")
        yield


def _finish(scene: Scene, running: Running, otherwise: bool) -> None:
    """Note a fault unless the run names the other worker exactly if that was `otherwise`: it refused or erred."""
    named = "is excluded from this run" in running.stderr
    scene.outcome.figures["left out"] += named
    scene.outcome.figures["differed"] += otherwise
    if named != otherwise:
        words = "was not named" if otherwise else "was left out, though its answers were right"
        scene.outcome.faults.append(f"the other worker {words}: {running.stderr[-600:]}")


def _other_code(scene: Scene, change: str) -> None:
    """A worker of other code beside a good one. It must do no chunk; of short runs it may get none."""
    scene.farm(workers=1)
    marks = _MARKS.format(place=str(scene.place))
    with _beside(scene, marks + OTHER[change].format(number=scene.chance.randint(7, 99))):
        scene.outcome.figures["harms"] += 1
        running = scene.drive()
        scene.finish(running)
    _finish(scene, running, (scene.place / "other-refused").exists())
    concerned = change not in _OF_KLOTSKI or "klotski" in (*scene.work.line, *scene.work.base)
    if concerned and (scene.place / "other-done").exists():
        scene.outcome.faults.append("the other worker did a chunk")


def _lies(scene: Scene, share: float) -> None:
    """A worker that omits a successor in a share of its batches, beside a good one; all chunks are audited."""
    scene.farm(workers=1)
    mark, number = scene.place / "differed", scene.chance.getrandbits(30)
    program = _LIES.format(number=number, share=share, mark=str(mark))
    with _beside(scene, program):
        scene.outcome.figures["harms"] += 1
        running = scene.start(*by_workers(scene.work).begin, "--audit", "100%")
        scene.finish(running)
    _finish(scene, running, mark.exists())


class Liars(Disturbed):
    """A trial is a run by workers, one of which has other code or omits successors."""

    name, usual, short = "liars", 240, (11,)
    headings = ("the other worker", "run")
    works = FOR_WORKERS
    ways: ClassVar[dict[str, Callable[[Scene], None]]] = {
        **{f"other code: {change}": partial(_other_code, change=change) for change in OTHER},
        "liar, always": partial(_lies, share=1.0),
        "liar, now and then": partial(_lies, share=0.1),
    }
    of_work: ClassVar = {"liar, always": "whole", "liar, now and then": "whole"}
    measures: ClassVar = {
        "harms": Measure("workers of other code, or with wrong answers"),
        "differed": Measure("refused a chunk, or answered wrongly"),
        "left out": Measure("named"),
        **TWICE,
    }
    text = """\
Each trial is a run by a good worker and another one. The code of the other one differs in the puzzle's class, a
kernel, a table, a task, the coding of keys or the version of Python. Or it claims to have the same code and omits a
successor, always or now and then, under `--audit 100%`. The run must end by itself and find the same as an undisturbed
run. The other worker records whether it refused a chunk or answered wrongly (most omitted successors are found
elsewhere, too): if it did it must be named, and otherwise not. Short runs may end before it gets a chunk, and a change
of one puzzle's class affects no other puzzle."""
