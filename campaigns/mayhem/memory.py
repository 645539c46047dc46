"""Little memory: all that takes part lies in a control group with a limit, and asks for no limit of its own."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Self

from campaigns.mayhem.places import own_folder
from campaigns.mayhem.scene import Scene
from campaigns.mayhem.trials import TWICE, ImpossibleError, Measure, Outcome, Part, Trial, pair_of
from campaigns.mayhem.works import Work, undisturbed_in
from hakoiri.worker.transport.connection import living_hosts, living_workers
from tests.support.commands import HAKOIRI, wait_until

_ROOT, _MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_LEAST_MB, _MOST_MB = 300, 500
_MOST_SECONDS = 600.0
#: The file that says how many bytes may be taken, and the one that says how many were at most, in either version.
_FILES = {"memory": ("memory.limit_in_bytes", "memory.max_usage_in_bytes"), "": ("memory.max", "memory.peak")}
_KEPT = ("--hosts", "all")
#: Runs that take more than the limit where they may; those that a host may keep.
WORKS = {
    work.name: work
    for work in (
        Work("cube2", ("run", "cube2"), farmed=_KEPT),
        Work("pancakes", ("run", "pancakes", "-o", "n=10"), farmed=_KEPT),
        Work("klotski, whole", ("run", "klotski", "--whole")),
        Work("peg solitaire", ("run", "peg-solitaire"), farmed=_KEPT),
    )
}


class Group:
    """A control group below the one of this process, with a limit of its memory."""

    def __init__(self, name: str, megabytes: int) -> None:
        parent, version = _mine()
        self._limit, self._most = _FILES[version]
        self.folder = parent / name
        try:
            self.folder.mkdir()
            (self.folder / self._limit).write_text(str(megabytes << 20), encoding="ascii")
        except OSError as error:
            with suppress(OSError):
                self.folder.rmdir()
            raise ImpossibleError(f"no control group can be made here: {error}") from error

    @property
    def most(self) -> float:
        """The most MB that all in it took at a time, files that were read or written among them."""
        with suppress(OSError):
            return int((self.folder / self._most).read_text(encoding="ascii")) / (1 << 20)
        return 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        wait_until(lambda: not (self.folder / "cgroup.procs").read_text(encoding="ascii"), what="its processes to end")
        self.folder.rmdir()


def _mine() -> tuple[Path, str]:
    """The control group of this process that limits memory, and in which version."""
    for line in _MINE.read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _ROOT / "memory" / path.lstrip("/"), "memory"
    return _ROOT / path.lstrip("/"), ""


def entering(folder: Path, script: Path) -> Path:
    """A program like ``hakoiri`` that belongs to a control group, with all that it starts."""
    text = f'#!/bin/sh\necho $$ > {folder}/cgroup.procs && exec {HAKOIRI} "$@"\n'
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return script


def _run(scene: Scene) -> None:
    scene.finish(scene.drive(), seconds=_MOST_SECONDS)


def _coordinator(scene: Scene) -> None:
    scene.queue()
    scene.finish(scene.coordinate(), seconds=_MOST_SECONDS)


def _host(scene: Scene) -> None:
    """A host with its data Redis, or workers where the work falls into chunks, as many as there are cores."""
    scene.farm(hosts=0)
    kept = ("--store", str(scene.place / "store"), "--data-redis", "auto") if scene.work.farmed else ()
    environment = {"HAKOIRI_REDIS": scene.url}
    line = ("worker", "-n", "auto", *kept)
    scene.hosts = [scene.hakoiri.start(*line, env=environment, executable=scene.executable)]
    scene.executable = None
    client = scene.one_redis.client
    wait_until(lambda: living_hosts(client) or living_workers(client), what="whoever works")
    at_first = {child.pid for child in scene.children(data_redis=False)}
    scene.finish(scene.drive(), seconds=_MOST_SECONDS)
    if kept:
        scene.finish(scene.start("collect", "last"))
    if at_first - {child.pid for child in scene.children(data_redis=False)}:
        scene.outcome.faults.append("who works was killed")


_WAYS: dict[str, Callable[[Scene], None]] = {"run": _run, "coordinator": _coordinator, "host": _host}


class Memory(Part):
    """A trial is a larger run, and what drives it, or a host or workers, in a control group with a limit."""

    name, usual, short = "memory", 24, (0,)
    headings = ("who is in the group", "run")
    measures: ClassVar = {"harms": Measure("groups"), "most": Measure("MB taken, with files", most=True), **TWICE}
    text = f"""\
A run without `--memory`, by what a user starts, a coordinator, or a host (`worker -n auto --store DIR --data-redis
auto`; workers of a whole space), which is in a control group of {_LEAST_MB} to {_MOST_MB} MB. No process may be
killed for want of memory, and the run must find the same as an undisturbed run."""

    def case_of(self, number: int) -> str:
        return pair_of(number, _WAYS, WORKS)

    def run(self, trial: Trial) -> Outcome:
        outcome, chance = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0)), trial.chance()
        way, work = outcome.case.split(" / ")
        # Files in memory would count as memory that cannot be given back.
        with (
            own_folder(Path(tempfile.gettempdir())) as disk,
            Group(disk.name, chance.randint(_LEAST_MB, _MOST_MB)) as group,
        ):
            scene = Scene(WORKS[work], undisturbed_in(self.place), disk / trial.folder, chance, outcome)
            with scene.ended:
                # Not forked: what it has imported is to count, too.
                scene.executable = entering(group.folder, scene.place / "hakoiri")
                outcome.figures["harms"] += 1
                _WAYS[way](scene)
                outcome.figures["most"] = round(group.most, 1)
                return scene.judge()
