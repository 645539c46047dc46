"""Runs from several starts, as processes: a file on the command line, workers, kills, questions, refusals."""

import signal
from functools import partial
from pathlib import Path
from random import Random

import pytest

from hakoiri.api import open_run
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PuzzleSpec
from tests.support.commands import Hakoiri
from tests.support.process_setup import stand_still_beyond
from tests.support.servers import Workers

TILES = ("tiles", "-o", "rows=2", "-o", "columns=4")


@pytest.fixture
def lines() -> list[str]:
    """Configurations on a random walk."""
    puzzle, rng = PuzzleSpec("tiles", {"rows": "2", "columns": "4"}).build(), Random(7)
    key, found = puzzle.start, []
    for _ in range(40):
        for _ in range(rng.randrange(1, 30)):
            key = rng.choice(puzzle.successors(key))
        found.append(puzzle.render(key))
    return sorted({*found})


@pytest.fixture
def file(lines: list[str], tmp_path: Path) -> str:
    path = tmp_path / "starts.txt"
    path.write_text("# starts\n" + "\n".join(f"{number} {line}" for number, line in enumerate(lines)) + "\n")
    return str(path)


def assert_right(hakoiri: Hakoiri, lines: list[str]) -> None:
    """The layers are those of a plain search from all lines."""
    assert hakoiri.ask("verify", "last", "--full")["ok"]
    with open_run("last", hakoiri.data) as run:
        layer = seen = {run.puzzle.parse(line) for line in lines}
        for depth in range(run.store.state.depth + 1):
            assert ints(run.layer(depth)) == sorted(layer)
            layer = {after for key in layer for after in run.puzzle.successors(key)} - seen
            seen = seen | layer
        assert not layer


@pytest.mark.ci_slow
def test_workers_search_from_a_file(hakoiri: Hakoiri, farm: Workers, file: str, lines: list[str]) -> None:
    found = hakoiri.ask("run", *TILES, "--from", file, "--redis", farm.url, "--farm", "always", "--chunk", "500")
    assert (found["status"], found["configurations"]) == ("complete", 20_160)
    assert {*found["starts"].removesuffix("…").splitlines()[:-1]} <= {*lines}
    assert hakoiri.ask("status", "last")["work_log"]["layers"]["workers"]["layers"] > 10
    assert_right(hakoiri, lines)


@pytest.mark.ci_slow
@pytest.mark.parametrize("keep", [(), ("--keep", "depths")])
def test_a_killed_run_goes_on_from_its_starts(
    keep: tuple[str, ...], hakoiri: Hakoiri, file: str, lines: list[str]
) -> None:
    running = hakoiri.start("run", *TILES, "--from", file, *keep, before=partial(stand_still_beyond, "depth", -1, 4))
    for _ in range(2):
        running.stands_still()
        running.send(signal.SIGCONT)
    running.kill()
    Path(file).unlink()
    assert hakoiri.ask("resume", "last")["configurations"] == 20_160
    if keep:
        assert hakoiri.ask("verify", "last", "--full")["ok"]
        assert hakoiri.ask("distance", "last", lines[3])["length"] == 0
    else:
        assert_right(hakoiri, lines)


def test_the_same_file_resumes_a_run_and_another_does_not(hakoiri: Hakoiri, file: str, lines: list[str]) -> None:
    hakoiri.ask("run", *TILES, "--from", file)
    hakoiri.ask("resume", "last", "--from", file)
    Path(file).write_text("\n".join(lines[:5]))
    error = hakoiri("resume", "last", "--from", file, check=False).error
    assert "has starts of its own, and cannot resume with others" in error
    assert hakoiri.ask("run", *TILES, "--from", file, "--reuse")["configurations"] == 20_160


def test_the_distance_between_two_sets_and_its_path(hakoiri: Hakoiri) -> None:
    words = ("run", *TILES, "--from", "12**/****", "--goal", "*21*/****", "--until-goal")
    found = hakoiri.ask(*words)
    path = hakoiri.ask("path", "last")
    assert found["goal_depth"] == path["length"] > 0
    assert path["configurations"][0].startswith("12")
    assert path["configurations"][-1][1:3] == "21"
    assert "12**/****" in hakoiri("status", "last").stdout
    assert hakoiri.ask(*words, "--dry-run")["goal_depth"] == path["length"]
    assert "has several starts" in hakoiri("diameter", "last", check=False).error


def test_the_rows_of_one_start_may_be_typed_in_lines(hakoiri: Hakoiri) -> None:
    """Also where some rows are joined: only the lines of a file are starts."""
    found = hakoiri.ask("run", "tiles", "-o", "rows=4", "-o", "columns=2", "--from", ".1/23\n45/67")
    assert (found["start"], "starts" in found) == (".1/23/45/67", False)


def test_a_malformed_line_is_named(hakoiri: Hakoiri, file: str, lines: list[str]) -> None:
    Path(file).write_text("\n".join([*lines[:3], "; here", "1234/567", *lines[3:]]))
    error = hakoiri("run", *TILES, "--from", file, check=False).error
    assert "line 5: " in error
    assert len(error.strip().splitlines()) == 1
    error = hakoiri("run", *TILES, "--whole", "--from", "12**/****", check=False).error
    assert "a run of the kind census has one start, not several" in error
