"""Magic stars by the command line: published counts by threads and by workers, through kills, and all that one asks."""

import csv
import signal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.commands import Hakoiri, Running, wait_until
from tests.support.seeds import first_usual
from tests.support.servers import Workers, by_workers

#: Orbits by the 2n symmetries of the figure. Up to 8 points published; all by two independent programs.
ORBITS = {5: 0, 6: 80, 7: 72, 8: 112, 9: 3_014, 10: 10_882, 11: 53_528, 12: 396_930}
#: Small enough chunks that a run takes some seconds, however fast the machine.
SLOW = ("run", "magic-star", "-o", "points=9", "-o", "solutions=keep", "--workers", "1", "--chunk")
FIGURE_6 = "1/2 4 12 8/10 6/11 5 3 7/9"


def stars(hakoiri: Hakoiri, points: int, *more: str) -> dict[str, Any]:
    return hakoiri.ask("run", "magic-star", "-o", f"points={points}", *more)


def assert_counts(found: dict[str, Any], points: int) -> None:
    assert (found["status"], found["kind"], found["exhausted"]) == ("complete", "tree", True)
    assert (found["solutions"], found["orbits"]) == (2 * points * ORBITS[points], ORBITS[points])
    assert found["classes"] == (20 if points == 6 else ORBITS[points])
    assert found["chunks"] == found["chunks_done"]
    assert found["seconds_left"] is None


@pytest.mark.ci_slow
@pytest.mark.parametrize("points", first_usual(2, 5, 8, 6, 7))
def test_published_counts(points: int, hakoiri: Hakoiri, farm: Workers) -> None:
    """By threads and by workers, in chunks of any size, by more than one strategy: always the same digest."""
    found = stars(hakoiri, points)
    assert_counts(found, points)
    resources = [("--chunk", "7", "--workers", "3"), ("--redis", farm.url, "--farm", "1", "--chunk", "40")]
    for way in resources if points in (5, 6) else resources[1:]:
        other = stars(hakoiri, points, *way)
        assert_counts(other, points)
        assert (other["digest"], other["nodes"]) == (found["digest"], found["nodes"])
    if points < 7:
        pruned = stars(hakoiri, points, "-o", "strategy=prune")
        assert_counts(pruned, points)
        assert pruned["digest"] == found["digest"]
        assert [row["strategy"] for row in pruned["strategies"]] == ["prune", "prune+symmetry"]
        assert pruned["strategies"][0]["nodes"] == pruned["nodes"]


# Kills


@pytest.mark.ci_slow
def test_the_service_drives_a_tree(hakoiri: Hakoiri, farm: Workers) -> None:
    queued = hakoiri.ask("enqueue", "magic-star", "-o", "points=7", "--farm", "1")["run"]
    assert hakoiri.ask("status", queued)["status"] == "queued"
    with by_workers():
        hakoiri.here("coordinator", "--redis", farm.url, "--burst")
    row = hakoiri.ask("status", queued)
    assert (row["status"], row["solutions"], row["orbits"]) == ("complete", 1_008, 72)
    assert [each["kind"] for each in hakoiri.ask("runs")["runs"]] == ["tree"]


def test_cancelled_and_deleted(hakoiri: Hakoiri) -> None:
    name = hakoiri.ask("enqueue", "magic-star")["run"]
    assert hakoiri.ask("cancel", name)["status"] == "cancelled"
    assert hakoiri.ask("resume", name)["solutions"] == 960
    assert hakoiri.ask("delete", name, "--yes")["status"] == "deleted"
    assert hakoiri.ask("runs")["runs"] == []


# Questions


def test_what_one_asks_of_a_run(hakoiri: Hakoiri, tmp_path: Path) -> None:
    run = stars(hakoiri, 6, "-o", "solutions=keep")["run"]
    told = hakoiri.ask("solutions", "last", "--first", "100")
    assert (told["orbits"], told["symmetries"], len(told["solutions"])) == (80, 12, 80)
    assert told["solutions"][0] == FIGURE_6
    drawn = hakoiri.here("solutions", "last", "-n", "2", "--svg", str(tmp_path / "star.svg")).stdout
    assert drawn.startswith(FIGURE_6)
    assert "2 of 80 orbits, each of 12 images" in drawn
    ElementTree.parse(tmp_path / "star.svg")  # noqa: S314  (our own)
    shown = hakoiri.here("show", FIGURE_6, "--puzzle", "magic-star").stdout
    assert drawn.splitlines()[1:22] == shown.splitlines()[:21]
    assert "goal           yes" in shown
    assert hakoiri.ask("export", "last", "--to", str(tmp_path / "one.csv"))["solutions"] == 80
    assert hakoiri.ask("export", "last", "--images", "--to", str(tmp_path / "all.npz"))["solutions"] == 960
    with (tmp_path / "one.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["solution"] for row in rows] == told["solutions"]
    with np.load(tmp_path / "all.npz") as arrays:
        assert arrays["numbers"].shape == (960, 12)
    assert [row["size"] for row in hakoiri.ask("layers", run)["layers"]] == [1, 2, 22, 120, 320, 80]
    assert hakoiri.ask("verify", run, "--full")["checked"]["solutions"] == 80


@pytest.mark.ci_slow
def test_the_report_counts_and_compares(hakoiri: Hakoiri) -> None:
    hakoiri.here("run", "magic-star", "-o", "strategy=prune")
    text = " ".join(hakoiri.here("run", "magic-star").stdout.split())
    assert "solutions 960" in text
    assert "orbits 80 by the 12 symmetries of the figure" in text
    assert "classes 20 by the 48 automorphisms of its lines" in text
    assert "prune 1,573,584 414.5" in text
    assert "prune+symmetry 3,796 1.0" in text


#: What makes no sense of a tree, and what is said of it.
REFUSED = {
    ("path", "last"): "is of the kind tree, which has no graph of moves",
    ("distance", "last", FIGURE_6): "is of the kind tree, which has no graph of moves",
    ("diameter", "last"): "is of the kind tree, which has no graph of moves",
    ("components", "last"): "is of the kind tree, which has no graph of moves",
    ("solutions", "last"): "counted its solutions and kept none",
    ("export", "last", "--to", "x.csv"): "counted its solutions and kept none",
    ("export", "last", "--to", "x.graphml"): "the name must end in .csv, .npz",
    ("run", "magic-star", "--whole"): "leave out --whole",
    ("run", "magic-star", "--from", "0x0"): "leave out --from",
    ("run", "magic-star", "-o", "points=4"): "expected a whole number in 5..15",
    ("run", "magic-star", "-o", "points=9", "-o", "strategy=generate"): "is limited to 8 points",
    ("resume", "last", "-o", "points=7"): "has points 5, and cannot resume with 7",
}


def test_what_makes_no_sense_is_refused_in_one_line(
    hakoiri: Hakoiri, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stars(hakoiri, 5)
    for command, said in REFUSED.items():
        refused = hakoiri.here(*command, check=False)
        assert (refused.code, refused.stdout) == (1, ""), command
        assert said in refused.error
    assert not list(tmp_path.glob("*x.*"))


def test_only_trees_have_solutions(hakoiri: Hakoiri) -> None:
    hakoiri.ask("run", "pancakes", "-o", "n=4")
    assert "is not a tree" in hakoiri.here("solutions", "last", check=False).error
    refused = hakoiri.here("export", "last", "--images", "--to", "x.csv", check=False)
    assert "leave out --images" in refused.error


def comes_to(hakoiri: Hakoiri, chunks: int, running: Running) -> None:
    """Wait until so many chunks are committed, or the run has ended."""
    wait_until(
        lambda: hakoiri.state().figures.get("chunks_done", 0) >= chunks or running.process.poll() is not None,
        what=f"chunk {chunks}",
    )


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("number", "kills", "chunk"),
    [
        (signal.SIGKILL, 1, "2"),
        pytest.param(signal.SIGTERM, 2, "1", marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, 6, "1", marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed(number: int, kills: int, chunk: str, hakoiri: Hakoiri) -> None:
    command, done = [*SLOW, chunk], 0
    for _ in range(kills):
        running = hakoiri.start(*command)
        comes_to(hakoiri, done + 1, running)
        running.send(number)
        running.finish()
        state = hakoiri.state()
        assert state.figures.get("chunks_done", 0) >= done
        done = state.figures.get("chunks_done", 0)
        if state.status == "complete":
            break  # It was faster than the signal.
        row = hakoiri.ask("status", "last")
        assert (row["chunks_done"], row["solutions"]) == (done, state.figures.get("configurations", 0))
        command = ["resume", "last", "--workers", "1"]
    assert done > 0
    assert hakoiri.ask("verify", "last")["ok"]
    found = hakoiri.ask("resume", "last")
    assert_counts(found, 9)
    assert found["layers"][-1] == 3_014
    assert 1 <= found["sessions"] <= kills + 1
    undisturbed = stars(hakoiri, 9)
    assert (found["digest"], found["nodes"]) == (undisturbed["digest"], undisturbed["nodes"])
