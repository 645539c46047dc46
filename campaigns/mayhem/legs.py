"""Runs in legs: each draws its memory, its threads, workers or hosts, and its version of Hakoiri anew."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar

from campaigns.mayhem.scene import MOST_SECONDS, Disturbed, Scene
from campaigns.mayhem.trials import Measure
from campaigns.mayhem.works import OWN_FILE, WORKS, Work, the_run
from hakoiri.puzzles.user.files import FILES
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import LAYERS
from hakoiri.worker.transport.connection import living_hosts
from tests.support.commands import ROOT, Finished, Running, wait_until
from tests.support.process_setup import be_impatient, be_starved

_MOST_LEGS = 4
#: Among the settings of a run; 0 is all.
_NO_HOSTS = -1
#: How many commits that touch the product lie between the present version and an older one.
_BACK = (20, 60, 120)
_PANCAKES = ("run", "pancakes", "-o", "n=8")
_TILES = ("run", "tiles", "-o", "rows=2", "-o", "columns=4")
_WORKS = {
    work.name: work
    for work in (
        *(WORKS[name] for name in ("explore", "explore, mirrors merged", "directed", "hardest")),
        *(Work(f"tiles, {keep}", (*_TILES, "--keep", keep), before=be_impatient) for keep in ("depths", "frontier")),
        Work("pancakes", _PANCAKES),
        *(Work(f"pancakes, {keep}", (*_PANCAKES, "--keep", keep)) for keep in ("depths", "frontier")),
    )
}


@cache
def _older_version(place: Path, back: int) -> Path:
    """Return a program that is Hakoiri of an older commit, in a folder of the campaign."""
    asked = ["git", "log", "--first-parent", "--format=%h", f"--skip={back}", "-1", "--", "hakoiri"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    folder = place / f"hakoiri-{commit}"
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit, "hakoiri"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "x"], cwd=folder, input=packed, check=True)
    program = folder / "program"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} -P -m hakoiri "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


class _Journey(Scene):
    """A scene whose run goes on in another way in each leg."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)  # type: ignore[arg-type]
        self._layers = sum(name.startswith(repr(LAYERS)) for name in self.expected)

    def leg(self, how: str) -> Running:
        """Start a leg: threads, workers, hosts, or an older version by threads."""
        older, env = how == "older version", {FILES: str(OWN_FILE)}
        options = ["--chunk", str(self.chance.choice((50, 200, 2_000)))]
        before = None if older else self.chance.choice((None, be_impatient, be_starved))
        if memory := self.chance.choice(("", "100MB") if older or before is None else ("", "1MB", "100MB")):
            options += ["--memory", memory]
        if how == "workers":
            if not self.redis:
                self.farm()
            options += ["--farm", "always"]
        elif how == "hosts":
            self._await_hosts()
            options += ["--hosts", "all"]
        else:
            options += ["--workers", str(self.chance.choice((1, 2, 3)))]
        if self.redis and (how in ("workers", "hosts") or self.is_for_hosts()):
            env |= {"HAKOIRI_REDIS": self.url}
        line = ("resume", self.run.name) if self.made() else self.work.line
        executable = _older_version(self.place.parent, self.chance.choice(_BACK)) if older else None
        return self.hakoiri.start(*line, *options, env=env, before=before, executable=executable)

    @property
    def run(self) -> Path:
        return the_run(self.work, self.hakoiri.data)

    def kept_by_hosts(self) -> bool:
        """Return whether hosts keep layers of the run."""
        if not self.made():
            return False
        with Ledger(self.run) as ledger:
            return bool(ledger.keepers())

    def is_for_hosts(self) -> bool:
        """Return whether hosts make the layers of the run from its beginning, or keep some."""
        if not self.made():
            return False
        with Ledger(self.run) as ledger:
            return bool(ledger.keepers()) or ledger.manifest.settings.get("hosts", _NO_HOSTS) != _NO_HOSTS

    def _await_hosts(self) -> None:
        if not self.redis:
            self.farm()
        if not living_hosts(self.one_redis.client):
            env = {"HAKOIRI_REDIS": self.url}
            self.hosts += [
                self.hakoiri.start("worker", "--store", str(self.place / f"host-{number}"), env=env)
                for number in (0, 1)
            ]
            wait_until(lambda: len(living_hosts(self.one_redis.client)) == 2, what="the hosts")

    def end_leg(self, running: Running) -> None:
        """End a leg at a random layer, by SIGKILL or SIGTERM; a refusal must say what to do next."""
        begun = self.standing().state.depth if self.made() else -1
        figures = self.outcome.figures
        if self.let_deepen(running, range(begun + 1, max(begun + 2, self._layers - 1))):
            if self.chance.random() < 0.5:
                self.struck(time.time(), running.kill)
            else:
                running.send(signal.SIGTERM)
                self._require_plain(running.finish(MOST_SECONDS), also=(1, 3, 130, 143, -signal.SIGTERM))
            figures["legs"] += 1
        else:
            ended = running.finish(MOST_SECONDS)
            figures["late" if ended.code == 0 else "refused"] += 1
            # 2: an older version does not know an option.
            self._require_plain(ended, also=(1, 2))

    def _require_plain(self, ended: Finished, also: tuple[int, ...]) -> None:
        said = [line for line in ended.stderr.splitlines() if line.startswith("hakoiri: ")]
        if ended.code not in (0, *also) or "Traceback" in ended.stderr or len(said) > 1:
            self.outcome.faults.append(f"{ended.arguments[:3]} ended with {ended.code}: {ended.stderr[-400:]}")
        self.outcome.said += said

    def arrive(self, how: str) -> None:
        """Go on to the end, and bring home what hosts keep."""
        if self.standing().state.status != "complete":
            self.finish(self.leg("hosts" if self.kept_by_hosts() else how))
        if self.kept_by_hosts():
            # Records of layers say where these are.
            self._before.clear()
            self.finish(self.hakoiri.start("collect", self.run.name, "--redis", self.url))


def _journey(*kinds: str) -> Callable[[Scene], None]:
    """A way of some legs, each of one of these kinds; the last one is of this version."""

    def way(scene: Scene) -> None:
        assert isinstance(scene, _Journey)
        for _ in range(scene.chance.randint(1, _MOST_LEGS)):
            if scene.made() and scene.standing().state.status == "complete":
                break
            scene.end_leg(scene.leg(scene.chance.choice(kinds)))
        scene.arrive(scene.chance.choice([each for each in ("threads", "workers") if each in kinds] or ["hosts"]))

    return way


class Legs(Disturbed):
    """A trial is a run in two to five legs."""

    name, usual, short = "legs", 300, (0, 3)
    headings = ("legs by", "run")
    crossed = "legs"
    scene = _Journey
    works = _WORKS
    ways: ClassVar = {
        "threads": _journey("threads"),
        "threads and workers": _journey("threads", "workers"),
        "threads and an older version": _journey("threads", "older version"),
        "hosts": _journey("hosts"),
        "anything": _journey("threads", "workers", "hosts", "older version"),
    }
    measures: ClassVar = {
        "legs": Measure("legs cut off"),
        "late": Measure("ended before"),
        "refused": Measure("refused"),
        "twice": Measure("made twice"),
        "lost": Measure("seconds of work lost", most=True),
    }
    text = """\
Each trial is a run of one to four legs that are cut off when a random layer has been committed, by SIGKILL or SIGTERM,
and a last one. Each leg draws its memory, how often it commits, its chunks, and its number of threads, RQ workers or
hosts. Its version is this commit, or one that 20, 60 or 120 commits of the product lie behind. What the run keeps
(`--keep`) is drawn for all its legs. A leg may be refused in one line, such as what an older version does not know;
the next one goes on.

At the end each record of a layer, and the table of depths byte for byte, must be those of an undisturbed run in one
leg. Nothing durable may be *made twice*, and `hakoiri verify` must agree."""

    def works_of(self, way: str) -> list[str]:
        """Hosts keep all layers; older versions do not count what classes of mirror images stand for."""
        names = [name for name in self.works if way != "hosts" or not name.endswith((", depths", ", frontier"))]
        with_older = way in ("threads and an older version", "anything")
        return [name for name in names if not (with_older and "merged" in name)]
