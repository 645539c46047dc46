"""Layers made in bitmaps: they are those of key ranges, wherever a session is cut off, and everything is verified."""

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import Run, explore, open_run, resume_run, verify_run
from hakoiri.coordinator.layers.memory_maker import LayersMaker
from hakoiri.coordinator.layers.table_maker import Marked
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.errors import TaskError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.layers import partition, table
from tests.support.runs import Countdown, essence
from tests.support.seeds import first_usual, usual
from tests.support.toy_runs import before_call, driven, driven_by_stops

#: All layers after the first are made in bitmaps, or in key ranges; each is committed.
ANYWAY = Tuning(bitmaps_from=1, bitmaps_within=1 << 20)
TUNING = replace(ANYWAY, checkpoint=-1.0, table_rest=0.0, commit=-1.0)
BITS = Resources(workers=2, tuning=TUNING)
STEPS = Resources(workers=2, tuning=replace(TUNING, bitmaps_from=1 << 40))
#: With a kernel for bitmaps and without, goals that are not number 0, several starts, classes of mirror images.
SPACES: dict[str, tuple[str, dict[str, Any]]] = {
    "pancakes": ("pancakes", {"options": {"n": "6"}}),
    "long": ("pancakes", {"options": {"n": "10"}}),
    "several starts": ("pancakes", {"options": {"n": "6"}, "starts": ["1,2,3,4,5,6", "6,1,5,2,4,3", "2,1,4,3,6,5"]}),
    "tiles": ("tiles", {"options": {"rows": "2", "columns": "3"}}),
    "mirrors": ("tiles", {"options": {"rows": "3", "columns": "3"}, "merge_mirrors": True}),
    "hanoi": ("hanoi", {"options": {"pegs": "4", "discs": "4"}}),
    "goals": ("tiles", {"options": {"rows": "2", "columns": "3", "goal": "1**/***"}}),
    "topspin": ("topspin", {"options": {"n": "7"}}),
    "burnt-pancakes": ("burnt-pancakes", {"options": {"n": "4"}}),
}
LONG = PuzzleSpec("pancakes", {"n": "10"})


def made(data: Path, space: str, resources: Resources = BITS) -> Run:
    puzzle, given = SPACES[space]
    return explore(puzzle, data=data, resources=resources, **given)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The depths of the layers that are made in bitmaps."""
    found = list[int]()
    before_call(monkeypatch, LayersMaker, "_merge", lambda *given: found.append(given[2]))
    return found


@usual(3, "space", [space for space in SPACES if space != "long"])
def test_the_layers_are_those_of_key_ranges(space: str, tmp_path: Path, tables: list[int]) -> None:
    with made(tmp_path / "steps", space, STEPS) as whole:
        assert not tables
        with made(tmp_path / "bits", space) as run:
            assert essence(run) == essence(whole)
            last = run.store.state.depth
            assert tables == [*range(1, last + 2)], "a layer was made in another way"
            assert [each.represented for each in run.layer_records()] == [
                each.represented for each in whole.layer_records()
            ]
            assert run.store.state.stored_bytes == sum(each.stored_bytes for each in run.layer_records())
    assert verify_run("last", tmp_path / "bits", full=space != "mirrors").faults == []


@pytest.mark.ci_slow
@pytest.mark.parametrize("most", first_usual(1, 1 << 25, 100))
def test_a_run_that_loses_its_power_at_any_commit_goes_on(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commit stands, also one in the midst of a layer; then it is resumed in bitmaps or in key ranges."""
    monkeypatch.setattr(table, "_PIECE", 8)
    monkeypatch.setattr(partition, "_MOST_STAGED", most)
    resources = replace(BITS, tuning=replace(TUNING, checkpoint=1e9)) if most == 100 else BITS
    with made(tmp_path / "whole", "long", STEPS) as whole:
        expected = essence(whole)
    commits = Countdown(0, lambda: None)
    with monkeypatch.context() as patch:
        before_call(patch, Ledger, "commit", commits)
        made(tmp_path / "counted", "long", resources).close()
    assert -commits.left > 20

    class PowerCutError(BaseException):
        pass

    def cut() -> None:
        raise PowerCutError

    begun = 0
    for number in range(3, -commits.left + 1, -commits.left // 5):
        data = tmp_path / str(number)
        with monkeypatch.context() as patch, suppress(PowerCutError):
            before_call(patch, Ledger, "_begin_commit", Countdown(number, cut))
            made(data, "long", resources).close()
        with RunStore(next(data.iterdir())) as left:
            assert left.state.status == "running"
            begun += left.read_partial(Marked) is not None
        with resume_run("last", data, resources=[BITS, STEPS][number % 2]) as run:
            assert essence(run) == expected
            assert not run.store.has_partial
        assert verify_run("last", data).ok
        shutil.rmtree(data)
    assert begun > 1, "no cut in the midst of a layer"


@pytest.mark.ci_slow
def test_a_stop_in_the_midst_of_a_layer_keeps_what_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No checkpoint is due in these sessions: each stop writes one, and so each session gets farther."""
    monkeypatch.setattr(table, "_PIECE", 8)
    resources = Resources(workers=1, tuning=ANYWAY)
    directory = make_run(tmp_path / "kept", LONG, None, {}, resources)
    midst = 0
    for number, (_, at) in enumerate(driven_by_stops(directory, resources)):
        midst += at > 0
        if number == 4:
            assert verify_run(directory.name, tmp_path / "kept").faults == []
    assert midst > 2
    with made(tmp_path / "whole", "long", STEPS) as whole, open_run("last", tmp_path / "kept") as run:
        assert essence(run) == essence(whole)


@pytest.mark.ci_slow
def test_a_failure_in_the_midst_of_a_layer_commits_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers have 14 blocks, each made apart: one of them fails."""
    monkeypatch.setattr(table, "_LEAST_BLOCKS", 1)

    def broken() -> None:
        raise ValueError("broken")

    resources = Resources(workers=2, tuning=ANYWAY)
    directory = make_run(tmp_path / "broken", LONG, None, {}, resources)
    with monkeypatch.context() as patch, pytest.raises(TaskError, match="broken"):
        before_call(patch, table, "sum_words", Countdown(60, broken))
        driven(directory, resources)
    with RunStore(directory) as left:
        assert 3 < left.state.depth < 9
        assert not left.has_partial
        assert not left.names(BLOCKS, number_key(left.state.depth + 1))
    assert driven(directory, resources).status == "complete"
    with (
        open_run("last", tmp_path / "broken") as run,
        made(tmp_path / "whole", "long", STEPS) as whole,
    ):
        assert essence(run) == essence(whole)
