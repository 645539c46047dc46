"""Censuses by passes, as if memory were short; and components, weak and strong."""

import re
import shlex
import signal
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import census
from hakoiri.coordinator.executors.sending import SendingExecutor
from hakoiri.coordinator.graphs import strong
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver, ThreadExecutor
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.results import Diameter, read_pairs, recorded_components, stage_component
from tests.support.commands import ROOT, START_OF_248, FinishedRuns, Hakoiri
from tests.support.servers import Workers, by_workers
from tests.support.toy_runs import before_call
from tests.support.user_puzzles import changed, ruled, written


def test_diameters_are_asked_for_from_the_command_line(hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--whole", "--diameters", "below=4")
    assert (found["diameters"], found["components"], found["components_done"]) == ("below=4", 1, 1)
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (only["size"], only["diameter"]) == (12, None)
    # What was left out is measured when it is asked for.
    assert hakoiri.ask("diameter", "last", "--component", "0")["diameter"] == 6
    refused = hakoiri.here("run", "tiles", "--diameters", "largest=1", check=False)
    assert "--diameters needs --whole" in refused.error


def verified(farm: Workers, directory: Path, patch: pytest.MonkeyPatch) -> Report:
    """Return the report of `verify`, all its work done by workers."""
    asked, mapped = set[str](), SendingExecutor.map

    def told(self: SendingExecutor, task: str, *arguments: Any) -> Any:
        asked.add(task)
        return mapped(self, task, *arguments)

    patch.setattr(SendingExecutor, "map", told)
    resources = Resources(farm.url, memory=1 << 28, chunk=1_000, farm=1)
    report = verify_directory(directory, False, resources, Control(), SilentObserver())
    assert "derive" in asked or not report.ok
    return report


def test_workers_and_threads_search_from_every_configuration_of_a_census_again(
    farm: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with census("pancakes", {"n": "5"}, data=tmp_path) as run:
        directory = run.store.directory
    tuning = Tuning(steps_at_once=10_000)
    for executor, redis in ((ThreadExecutor, None), (SendingExecutor, farm.url)):
        asked: list[str] = []
        before_call(monkeypatch, executor, "map", lambda _, task, *rest, asked=asked: asked.append(task))
        with by_workers() if redis else nullcontext():
            report = verify_directory(directory, True, Resources(redis, tuning=tuning), Control(), SilentObserver())
        assert (report.ok, report.checked["components"]) == (True, 1), report
        assert "searches" in asked
    with RunStore(directory, writable=True) as store:
        (record,) = recorded_components(store).values()
        stage_component(store, Diameter(replace(record, radius=4), read_pairs(store, 0)))
        store.commit(store.state)
    report = verify_directory(directory, True, Resources(farm.url, tuning=tuning), Control(), SilentObserver())
    assert "diameter, radius, centre, periphery are (5, 5, 120, 120)" in report.faults[0]


# ``components``, weak and strong, of directed and undirected runs, and the page on directed games


TEXT = (ROOT / "docs" / "explanation" / "directed.md").read_text(encoding="utf-8")
LEFT_ENDS = f"{ROOT / 'examples' / 'left_ends.py'}:LeftEnds"
#: Nodes and diameter of the element components, by aces and holes, as the paper has them.
ELEMENTS = {(1, 1): (2, 1), (1, 2): (3, 1), (1, 3): (4, 1), (2, 1): (6, 3), (2, 2): (12, 3), (3, 1): (24, 4)}
#: 0 to 3 and 4 to 6 are rings, 8 and 9 lead to each other, 7 is a dead end.
ROADS = ruled(
    "Roads",
    """\
    def successors(self, key):
        return ROADS[key]

    def is_goal(self, keys):
        return keys == 4

    def configurations(self):
        yield self.keys(sorted(ROADS))


ROADS = {0: [1], 1: [2], 2: [3, 4], 3: [0, 8], 4: [5], 5: [6, 7], 6: [4], 7: [], 8: [9], 9: [8]}
""",
)


@pytest.fixture
def roads(tmp_path: Path) -> str:
    return written(tmp_path, ROADS, "Roads")


def test_strong_components_of_a_directed_puzzle(hakoiri: Hakoiri, roads: str) -> None:
    name = hakoiri.ask("run", roads)["run"]
    found = hakoiri.ask("components", "last", "--strong")
    assert found == {
        "run": name,
        "configurations": 10,
        "weak_components": 1,
        "strong_components": 4,
        "single": 1,
        "condensation_edges": 3,
        "sources": 1,
        "sinks": 2,
        "components": [
            {"component": 0, "size": 4, "diameter": 3, "from": "0x0", "to": "0x3", "representative": "0x0"},
            {"component": 1, "size": 3, "diameter": 2, "from": "0x4", "to": "0x6", "representative": "0x4"},
            {"component": 2, "size": 2, "diameter": 1, "from": "0x8", "to": "0x9", "representative": "0x8"},
        ],
        "histogram": [{"size": size, "diameter": size - 1, "count": 1} for size in (4, 3, 2)],
    }
    limited = hakoiri.ask("components", "last", "--strong", "--limit", "2")
    assert limited == found | {"components": found["components"][:2]}
    shown = hakoiri.here("components", "last", "--strong", "--limit", "2").stdout
    assert re.search(r"^with one configuration +1$", re.sub(r" +\n", "\n", shown), re.MULTILINE)
    assert "and 1 component more: --limit N" in shown
    assert "2" not in [line.split()[0] for line in shown.splitlines() if line.endswith("0x9")]


def test_weak_components_of_a_directed_puzzle(hakoiri: Hakoiri, roads: str) -> None:
    hakoiri.ask("run", roads)
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (only["component"], only["size"], only["representative"], only["diameter"]) == (0, 10, "0x0", None)
    assert "a search from a start has one weak component" in hakoiri.here("components", "last").stdout
    refused = hakoiri.here("diameter", "last", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "roads is directed" in refused.error
    assert "--strong" in refused.error


def test_a_census_of_a_directed_puzzle_has_weak_components(hakoiri: Hakoiri, roads: str) -> None:
    """Not distances: it would take those one way for distances both ways."""
    found = hakoiri.ask("run", roads, "--whole")
    assert (found["components"], found["edges"]) == (1, 12)
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (only["size"], only["diameter"]) == (10, None)
    assert hakoiri.ask("components", "last", "--strong")["strong_components"] == 4
    refused = hakoiri.here("run", roads, "--whole", "--diameters", "largest=1", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "roads is directed" in refused.error
    assert "leave out --diameters" in refused.error


def test_a_run_without_an_end_is_refused(hakoiri: Hakoiri, roads: str) -> None:
    hakoiri.ask("run", roads, "--until-goal")
    for options in ([], ["--strong"]):
        refused = hakoiri.here("components", "last", *options, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert "stopped at its first goal, so its components are not known" in refused.error


def test_no_configuration_leads_to_another(hakoiri: Hakoiri, tmp_path: Path) -> None:
    ring = "return ROADS[key]"
    down = changed((ring, "return [other for other in ROADS[key] if other > key]"), text=ROADS)
    hakoiri.ask("run", written(tmp_path, down, "Roads"))
    found = hakoiri.ask("components", "last", "--strong")
    assert (found["strong_components"], found["single"], found["components"], found["histogram"]) == (10, 10, [], [])
    assert "diameter" not in hakoiri.here("components", "last", "--strong").stdout


@pytest.mark.parametrize("aces, holes", ELEMENTS)
def test_element_components_of_superpuzz(hakoiri: Hakoiri, aces: int, holes: int) -> None:
    hakoiri.ask("run", LEFT_ENDS, "-o", f"aces={aces}", "-o", f"holes={holes}")
    found = hakoiri.ask("components", "last", "--strong")
    assert [(one["size"], one["diameter"]) for one in found["components"]] == [ELEMENTS[aces, holes]]
    (only,) = found["components"]
    assert hakoiri.ask("distance", "last", only["to"], "--from", only["from"])["length"] == only["diameter"]
    assert f"\n| {aces} | {holes} | {only['size']} | {only['diameter']} |\n" in TEXT
    assert hakoiri.ask("verify", "last", "--full")["ok"]


def test_more_ends_than_there_are(hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("run", LEFT_ENDS, "-o", "aces=3", "-o", "holes=2", check=False)
    assert "3 aces and 2 holes need 5 left ends; there are 4" in refused.error
    assert "expected . D H in some order" in hakoiri.here("run", LEFT_ENDS, "--from", "H/H/.", check=False).error


def test_a_signal_ends_it_with_one_line(hakoiri: Hakoiri, roads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hakoiri.ask("run", roads)
    before_call(monkeypatch, strong, "strong_labels", lambda *_: signal.raise_signal(signal.SIGINT))
    stopped = hakoiri.here("components", "last", "--strong", check=False)
    assert (stopped.code, stopped.stdout) == (130, "")
    assert stopped.stderr.count("\n") == 1
    assert stopped.stderr.startswith("stopped by SIGINT; ask again: hakoiri components ")


@pytest.mark.ci_slow
def test_what_the_text_types_prints_what_it_shows(hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    typed = 0
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for command, *shown in (part.splitlines() for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]):
            words = shlex.split(command)
            assert words[0] == "hakoiri"
            printed = [line.rstrip() for line in hakoiri.here(*words[1:]).stdout.splitlines()]
            assert not set(map(str.rstrip, shown)) - set(printed), (command, printed)
            typed += 1
    assert typed > 10


@pytest.mark.ci_slow
def test_undirected_runs_agree_with_diameter(hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    hakoiri.ask("run", "klotski", "--from", START_OF_248)
    exact, (only,) = (hakoiri.ask("diameter", "last"), hakoiri.ask("components", "last", "--strong")["components"])
    assert (only["size"], only["diameter"]) == (248, exact["diameter"])
    assert [only["from"], only["to"]] in exact["pairs"]
    whole = finished.hakoiri.ask("components", finished.counted["run"], "--strong")
    plain = finished.hakoiri.ask("components", finished.counted["run"])["components"]
    assert (whole["strong_components"], whole["weak_components"], whole["single"]) == (898, 898, 0)
    names = ("component", "size", "diameter", "representative")
    assert [[one[name] for name in names] for one in whole["components"]] == [
        [one[name] for name in names] for one in plain
    ]
