"""Two operations at once on one run: one waits, is refused, or both do what they say."""

import csv
import os
import signal
import time
from collections.abc import Callable
from typing import ClassVar

from campaigns.mayhem.scene import MOST_SECONDS, Disturbed, Scene
from campaigns.mayhem.trials import Measure
from campaigns.mayhem.works import WORKS, Work, the_run
from hakoiri.coordinator.runs.catalogue import base_of
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import LAYERS
from hakoiri.web.settings import Settings
from hakoiri.worker.transport.connection import living_hosts
from tests.support.commands import Finished, Running, wait_until
from tests.support.process_setup import be_impatient
from tests.support.web import TOKEN, client_of

#: The exit code of a command that may succeed later.
TEMPORARY = os.EX_TEMPFAIL
#: The second operation begins at most so many seconds after the first one, or before it.
_APART_SECONDS = 0.3
_PANCAKES = Work("pancakes", ("run", "pancakes", "-o", "n=8"))
_WORKS = {
    work.name: work
    for work in (
        WORKS["explore"], WORKS["hardest"], _PANCAKES,
        Work("tiles, depths", ("run", "tiles", "-o", "rows=2", "-o", "columns=4", "--keep", "depths"),
             before=be_impatient),
    )
}  # fmt: skip


class _Pair:
    """The run of a scene, and the run that is named to operations on all of it: its base if it has one."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.chance = scene, scene.chance
        self.shelf, self.data = scene.place / "shelf", scene.hakoiri.data

    @property
    def name(self) -> str:
        return the_run(self.scene.work, self.data).name

    @property
    def whole(self) -> str:
        directory = the_run(self.scene.work, self.data)
        return base_of(directory) or directory.name

    def interrupt(self) -> None:
        """Make the run, and stop it at a random layer."""
        running = self.scene.drive()
        layers = sum(name.startswith(repr(LAYERS)) for name in self.scene.expected)
        if self.scene.let_deepen(running, range(1, max(2, layers - 1))):
            running.send(signal.SIGTERM)
        running.finish(MOST_SECONDS)

    def complete(self) -> None:
        self.scene.finish(self.scene.drive())

    def at_once(self, *lines: tuple[str, ...]) -> list[Finished]:
        """Run commands at nearly one time; a refusal is one line, and never a traceback."""
        order = list(range(len(lines)))
        self.chance.shuffle(order)
        running: dict[int, Running] = {}
        for place in order:
            running[place] = self.scene.start(*lines[place])
            time.sleep(self.chance.uniform(0, _APART_SECONDS))
        ended = [running[place].finish(MOST_SECONDS) for place in range(len(lines))]
        for each in ended:
            self.require_plain(each)
        self.scene.outcome.figures["pairs"] += 1
        return ended

    def require_plain(self, ended: Finished) -> None:
        """A command ends with 0, or is refused in one line, for good or until the run rests."""
        said = [line for line in ended.stderr.splitlines() if line.startswith("hakoiri: ")]
        refused = ended.code in (1, TEMPORARY)
        if not (refused or ended.code == 0) or "Traceback" in ended.stderr or len(said) != refused:
            self.fault(f"{ended.arguments[:2]} ended with {ended.code}: {ended.stderr[-400:]}")
        self.scene.outcome.figures["refused"] += refused
        self.scene.outcome.said += said

    def fault(self, text: str) -> None:
        self.scene.outcome.faults.append(text)

    def go_on(self) -> None:
        """Bring the run to its end, however it was left."""
        if not self.scene.made() or self.scene.standing().state.status != "complete":
            self.complete()

    def restored(self, archived: Finished) -> None:
        """Delete the run, if the command says that it is archived, and restore it."""
        if archived.code == 0:
            name = self.whole
            self.scene.hakoiri.here("delete", name, "--yes")
            back = self.scene.hakoiri.here("restore", name, "--from", str(self.shelf), check=False)
            if back.code:
                self.fault(f"archived, but not restored: {back.stderr[-400:]}")


def archive_and_cancel(pair: _Pair) -> None:
    """Both on a stopped run, or on its base."""
    pair.interrupt()
    archived, _ = pair.at_once(("archive", pair.whole, "--to", str(pair.shelf)), ("cancel", pair.name))
    pair.restored(archived)
    pair.go_on()


def title_and_archive(pair: _Pair) -> None:
    """The page sets one title after another while the run is archived."""
    pair.complete()
    with client_of(Settings(pair.data, token=TOKEN)) as client:
        running = pair.scene.start("archive", pair.whole, "--to", str(pair.shelf))
        while running.process.poll() is None:
            title = "x" * pair.chance.randint(0, 200)
            code = client.post(f"/api/runs/{pair.whole}/title", json={"title": title}).status_code
            if code != 200:
                pair.fault(f"a title is answered with {code}")
    archived = running.finish()
    pair.require_plain(archived)
    pair.scene.outcome.figures["pairs"] += 1
    pair.restored(archived)


def export_and_export(pair: _Pair) -> None:
    """Two runs are added to one table, and the same file is written twice."""
    pair.complete()
    name, table, files = pair.name, pair.scene.place / "growth.csv", [pair.scene.place / f"{n}.csv" for n in "ab"]
    pair.scene.hakoiri.here("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--name", "other")
    pair.scene.hakoiri.here("export", name, "--to", str(files[0]))
    # A run of another kind, or without its older layers, has no row.
    with_row = pair.scene.work.line[0] == "run"
    rows = [("export", each, "--growth", str(table)) for each in ("other", *[name] * with_row)]
    pair.at_once(*rows, *[("export", name, "--to", str(files[1]))] * 2)
    with table.open(encoding="utf-8", newline="") as file:
        if (found := len([*csv.DictReader(file)])) != len(rows):
            pair.fault(f"the table has {found} rows of {len(rows)}")
    if files[0].read_bytes() != files[1].read_bytes():
        pair.fault("a file that was written twice at once is neither")
    pair.scene.hakoiri.here("delete", "other", "--yes")


def restore_and_kill(pair: _Pair) -> None:
    """A restore that is killed is done again, or was done."""
    pair.complete()
    name = pair.whole
    archived = pair.scene.hakoiri.here("archive", name, "--to", str(pair.shelf))
    pair.scene.hakoiri.here("delete", name, "--yes")
    running = pair.scene.start("restore", name, "--from", str(pair.shelf))
    pair.scene.let_work(running, _APART_SECONDS)
    pair.scene.outcome.figures["pairs"] += running.process.poll() is None
    running.kill()
    again = pair.scene.hakoiri.here("restore", name, "--from", str(pair.shelf), check=False)
    if again.code and "there is a run" not in again.stderr:
        pair.fault(f"not restored after a kill: {again.stderr[-400:]}")
    assert archived.code == 0


def verify_and_resume(pair: _Pair) -> None:
    """A verification beside its driver finds no fault in a right run."""
    pair.interrupt()
    verified, _ = pair.at_once(("verify", pair.name, "--json"), ("resume", pair.name))
    if '"ok": false' in verified.stdout:
        pair.fault(f"verify beside resume: {verified.stdout[:400]}")
    pair.go_on()


def delete_and_collect(pair: _Pair) -> None:
    """A run that hosts keep is brought home, or gone; nothing is left at hosts."""
    scene = pair.scene
    scene.farm()
    places, env = [scene.place / f"host-{number}" for number in (0, 1)], {"HAKOIRI_REDIS": scene.url}
    scene.hosts += [scene.hakoiri.start("worker", "--store", str(place), env=env) for place in places]
    wait_until(lambda: len(living_hosts(scene.one_redis.client)) == 2, what="the hosts")
    scene.finish(scene.start(*scene.work.line, "--hosts", "all"))
    name = pair.name
    pair.at_once(("delete", name, "--yes"), ("collect", name))
    if scene.made():
        with Ledger(the_run(scene.work, pair.data)) as ledger:
            kept = ledger.keepers()
        if kept:
            scene.finish(scene.start("collect", name))
    wait_until(
        lambda: not [part for place in places for part in place.glob("run-*")], 60, "hosts to remove their parts"
    )
    scene.redis = None
    pair.go_on()


def _way(operations: Callable[[_Pair], None]) -> Callable[[Scene], None]:
    return lambda scene: operations(_Pair(scene))


class Pairs(Disturbed):
    """A trial is a run, and two operations on it at nearly one time."""

    name, usual, short = "pairs", 200, (0, 1, 2, 3, 4)
    headings = ("operations", "run")
    crossed = "pairs"
    works = _WORKS
    of_work: ClassVar = {"delete and collect": _PANCAKES.name}
    ways: ClassVar = {
        "archive and cancel": _way(archive_and_cancel),
        "title and archive": _way(title_and_archive),
        "export and export": _way(export_and_export),
        "restore and kill": _way(restore_and_kill),
        "verify and resume": _way(verify_and_resume),
        "delete and collect": _way(delete_and_collect),
    }
    measures: ClassVar = {
        "pairs": Measure("pairs at once"),
        "refused": Measure("refused"),
        "twice": Measure("made twice"),
    }
    text = """\
Each trial is a run of some kind, and two operations that begin at most 0.3 s apart. Each may be done or refused in one
line. An archive that says it is whole must be restored, after the run was deleted. Rows that are added to one growth
table at once must all be there, and a file that is written twice must be one of the two. A verification beside a
driver must find no fault. A run that was deleted while it was brought home must leave nothing at its hosts.

At the end the run, made anew if it was deleted, must be as an undisturbed one, and `hakoiri verify` must agree."""

    def works_of(self, way: str) -> list[str]:
        """A run that keeps depths has no configurations to export, and goal distances have no moves."""
        works = super().works_of(way)
        return [name for name in works if way != "export and export" or name not in ("hardest", "tiles, depths")]
