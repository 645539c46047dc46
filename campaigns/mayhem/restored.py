"""Coordinators and hosts whose directories are put back to other moments: the run is right, refused or waits."""

import math
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import lmdb
import pytest

from campaigns.mayhem.trials import Measure, Outcome, Part, Trial, pair_of
from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.hosted import collect_run, drain_run
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import HakoiriError
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.results import read_labels
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.requests import HostRequest
from tests.support.near_hosts import NAMES, Killed, NearHosts, always_even, near_hosts, resources_of
from tests.support.runs import small_slabs
from tests.support.toy_runs import EMBEDDINGS, assert_as_expected, new_run, open_without_sync

#: An undisturbed run takes 30 to 900 requests, and a trial some seconds.
_MOST_REQUESTS, _MOST_SECONDS = 10_000, 120
_SLAB = 64
#: The coordinator, by the name of a directory that no host has.
_COORDINATOR = "coordinator"


class EndlessError(BaseException):
    """A session took more requests, or seconds, than any should."""


class _Scene:
    """One run of a toy that near hosts keep, the copies that were made of all directories, and what comes of it."""

    def __init__(self, hosts: NearHosts, directory: Path, resources: Resources, chance: Random) -> None:
        self.hosts, self.directory, self.chance = hosts, directory, chance
        self._resources, self._left, self._requests = resources, 0.0, 0
        self._copies = directory.parent.parent / "copies"
        #: How many copies there are, and how likely another one is at a request.
        self._moments, self._often = 0, chance.choice((0.03, 0.2))
        #: Called at some request, while hosts are at work.
        self.meanwhile: Callable[[], None] | None = None
        self.put_back = 0
        hosts.then = self._then

    def work(self, requests: float = math.inf) -> str:
        """Drive the run for so many requests, then kill its coordinator; return its status."""
        self._left, self._requests = requests, 0
        with suppress(Killed):
            return drive(self.directory, self._resources, Control(), SilentObserver()).status
        return "killed"

    def work_on(self) -> None:
        """Drive it for a while."""
        self.work(self.chance.randint(1, self.chance.choice((30, 100, 400))))
        self.copy()

    def _then(self, task: str, host: str, request: HostRequest) -> None:
        self._left, self._requests = self._left - 1, self._requests + 1
        if self._requests > _MOST_REQUESTS:
            raise EndlessError(f"more than {_MOST_REQUESTS} requests, the last one {task} for layer {request.depth}")
        if self.chance.random() < self._often and self._moments < 60:
            self.copy()
        if self._left <= 0:
            meanwhile, self.meanwhile = self.meanwhile, None
            if meanwhile is None:
                raise Killed
            self._left = math.inf
            meanwhile()
            raise HostLostError("a host was restarted")

    def copy(self) -> None:
        """Copy all directories as they are at this moment."""
        place = self._copies / str(self._moments)
        shutil.copytree(self.directory, place / _COORDINATOR)
        for name in NAMES:
            shutil.copytree(self.directory.parent / "hosts" / name, place / name)
        self._moments += 1

    def restore(self, *names: str, moment: int | None = None) -> None:
        """Put directories back as they were at a moment, the same for all; by default at any one."""
        # At first nothing has begun.
        moment = self.chance.randint(min(1, self.latest), self.latest) if moment is None else moment
        place = self._copies / str(moment)
        for name in names:
            self.put_back += 1
            if name == _COORDINATOR:
                shutil.rmtree(self.directory)
                shutil.copytree(place / name, self.directory)
            else:
                self.hosts.put_back(name, place / name)

    @property
    def latest(self) -> int:
        """The number of the last copy."""
        return self._moments - 1

    def any_host(self) -> str:
        """One of the hosts."""
        return self.chance.choice(self.hosts.chosen)


def _coordinator(scene: _Scene) -> None:
    """Its directory is put back."""
    scene.work_on()
    scene.work_on()
    scene.restore(_COORDINATOR)


def _last_commit(scene: _Scene) -> None:
    """It loses what it has committed in the last few requests."""
    scene._often = 1.0
    scene.work(scene.chance.randint(2, 40))
    scene.restore(_COORDINATOR, moment=max(0, scene.latest - scene.chance.randint(0, 6)))


def _copied(scene: _Scene) -> None:
    """A copy of it goes on for a while, then the older one again."""
    scene.work_on()
    scene.work_on()
    mine = scene.latest
    scene.restore(_COORDINATOR)
    with suppress(HakoiriError):
        scene.work_on()
    scene.restore(_COORDINATOR, moment=mine)


def _host(scene: _Scene) -> None:
    """The directory of a host is put back."""
    scene.work_on()
    scene.work_on()
    scene.restore(scene.any_host())


def _host_meanwhile(scene: _Scene) -> None:
    """The same while the coordinator is at work."""
    scene.work_on()
    scene.meanwhile = lambda: scene.restore(scene.any_host())
    with suppress(HakoiriError):
        scene.work_on()


def _hosts(scene: _Scene) -> None:
    """Those of all hosts are, to the same moment."""
    scene.work_on()
    scene.work_on()
    scene.restore(*NAMES)


def _some(scene: _Scene) -> None:
    """Some of all directories are put back, each to a moment of its own, once or several times."""
    for _ in range(scene.chance.randint(1, 3)):
        scene.work_on()
        for name in (_COORDINATOR, *NAMES):
            if scene.chance.random() < 0.4:
                scene.restore(name)
        with suppress(HakoiriError):
            scene.work_on()


WAYS: dict[str, Callable[[_Scene], None]] = {
    "coordinator": _coordinator,
    "last commits of the coordinator": _last_commit,
    "copy of the coordinator beside it": _copied,
    "a host": _host,
    "a host while it works": _host_meanwhile,
    "all hosts": _hosts,
    "any of them, each to its own moment": _some,
}
WORKS = ["undirected", "directed", "whole space", "undirected, copies", "directed, copies", "whole space, copies"]


def _whole(data: Path, options: dict[str, str]) -> Path:
    """The directory of a new census of a toy."""
    return make_run(data, PuzzleSpec("toy", options), "census", {"diameters": "below=200"}, Resources())


@contextmanager
def _small(chance: Random) -> Iterator[pytest.MonkeyPatch]:
    """Patches by which small runs are cut up as large ones are, drawn by chance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
        small_slabs(patch, _SLAB)
        # Never connected to.
        patch.setenv("HAKOIRI_REDIS", "redis://nowhere")
        patch.setattr(part, "LEAST_BYTES", chance.choice((600, 24_000_000)))
        yield patch


@cache
def _census(layout: str, keys: str) -> tuple[Any, ...]:
    """Return the findings of a census without hosts."""
    with TemporaryDirectory() as place, _small(Random(0)):
        directory = _whole(Path(place), {"layout": layout, "keys": keys, "size": "600"})
        assert drive(directory, Resources(), Control(), SilentObserver()).status == "complete"
        return _found(directory)


def _found(directory: Path) -> tuple[Any, ...]:
    with RunStore(directory) as store:
        return store.state.digest, store.state.figures, read_labels(store, store.layer_record(0).size).tolist()


class Restored(Part):
    """A trial is a run of a toy that two or three hosts keep, and directories that are put back once or more."""

    name, usual, short = "restored", 504, (0, 17, 31)
    headings = ("what is put back", "run")
    measures: ClassVar = {
        "restored": Measure("directories put back"),
        "right": Measure("right"),
        "drained": Measure("right once a host is drained, as it says"),
        "refused": Measure("refused"),
        "waiting": Measure("waits"),
    }
    text = """\
Each trial is a run of a small puzzle whose layers, or a whole space, two or three hosts keep, in one process with
them. All directories are copied at random moments. Those of the coordinator or of hosts are put back to an earlier
moment: between two sessions, or while others are at work; sometimes ranges move meanwhile. Then the run is resumed. It
must be right, compared layer by layer with a plain search, or be refused with one line, or wait: never wrong, never for
ever. Where the line says that a host is to be drained, it is, and the run is resumed again."""

    def case_of(self, number: int) -> str:
        return pair_of(number, WAYS, WORKS)

    def run(self, trial: Trial) -> Outcome:
        outcome, chance = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0)), trial.chance()
        way, work = outcome.case.split(" / ")
        data = self.place / trial.folder / "data"
        data.mkdir(parents=True)
        with _small(chance) as patch, near_hosts(data, patch) as hosts, _in_time():
            hosts.copies = 2 if "copies" in work else 1
            hosts.chosen = NAMES[: chance.randint(2, 3)]
            layout, keys = chance.choice(EMBEDDINGS)
            options = {"layout": layout, "keys": keys, "size": "600"}
            resources = resources_of(patch, layout, chance.choice((-1.0, 60.0)))
            if moves := chance.random() < 0.3:
                always_even(patch, hosts)
            if moves or chance.random() < 0.2:
                # The third host joins.
                hosts.tuning = replace(hosts.tuning, host_joins=-1.0)
            if "whole" in work:
                patch.setattr(lmdb, "open", open_without_sync)
                patch.setattr(os, "fsync", lambda descriptor: None)
                directory, right = _whole(data, options), partial(_right_census, layout, keys)
                tuning = Tuning(most_range=chance.randint(1, 3) * _SLAB, checkpoint=-1.0)
                resources = Resources(farm=1, tuning=tuning)
            else:
                options["directed"] = "yes" if work.startswith("directed") else "no"
                directory, right = new_run(data, options), partial(_right_search, options)
            scene = _Scene(hosts, directory, resources, chance)
            scene.copy()
            with suppress(HakoiriError):
                WAYS[way](scene)
            outcome.figures["restored"] = scene.put_back
            if chance.random() < 0.5:
                for name in NAMES:
                    hosts.restart(name)
            _judge(scene, right, outcome)
        return outcome


@contextmanager
def _in_time() -> Iterator[None]:
    """Raise `EndlessError` if the block takes too long."""

    def late(*_: object) -> None:
        raise EndlessError(f"more than {_MOST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_MOST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _judge(scene: _Scene, right: Callable[[Path, NearHosts], object], outcome: Outcome) -> None:
    """Resume the run to its end, or until it is refused or waits; count which, and say what is wrong."""
    for drained in (False, True):
        try:
            status = scene.work()
            with RunStore(scene.directory) as store:
                state = store.state
            if status == "complete":
                right(scene.directory, scene.hosts)
                outcome.figures["drained" if drained else "right"] += 1
            elif status == "interrupted" and "would be waited for" in state.reason:
                outcome.figures["waiting"] += 1
            else:
                outcome.faults.append(f"{status}: {state.reason}")
            return
        except HakoiriError as error:
            outcome.said.append(f"{type(error).__name__}: {error}; {error.hints}")
            if len(str(error).splitlines()) != 1:
                outcome.faults.append(f"not one line: {error}")
            if not isinstance(error.__cause__, HakoiriError | None):
                outcome.faults.append(f"not foreseen: {type(error.__cause__).__name__}: {error}")
            hosts = [hint.what for hint in error.hints if hint.do == "drain"]
            if not hosts or drained:
                outcome.figures["refused"] += 1
                break
            scene.hosts.leaving |= {*hosts}
            with suppress(HakoiriError):
                drain_run(scene.directory, hosts[0], "", Control(), SilentObserver())
        except (AssertionError, EndlessError) as error:
            outcome.faults.append(f"{type(error).__name__}: {' '.join(str(error).split())[:600]}")
            return


def _right_search(options: dict[str, str], directory: Path, hosts: NearHosts) -> None:
    _bring_home(directory, hosts)
    assert_as_expected(directory, options)


def _right_census(layout: str, keys: str, directory: Path, hosts: NearHosts) -> None:
    _bring_home(directory, hosts)
    assert _found(directory) == _census(layout, keys)


def _bring_home(directory: Path, hosts: NearHosts) -> None:
    hosts.then = lambda *_: None
    with RunStore(directory) as store:
        kept = store.keepers()
    # An attempt that was refused may have brought some layers home.
    if kept:
        collect_run(directory, "", Control(), SilentObserver())
