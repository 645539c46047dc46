"""Runs that keep the last two layers, or the depths of all others: the layers are the same, and no answer is wrong."""

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, explore, open_run, resume_run, verify_run
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.layers.verify import LayersVerifier
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.errors import DamagedError, NotKeptError, PuzzleError, RunHeldError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.depths import DepthTable, Kept, code_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import seal, unseal
from hakoiri.storage.names import CLOSED
from hakoiri.worker.layers import table
from tests.support.commands import Hakoiri
from tests.support.plain_search import reference_distances
from tests.support.runs import Countdown, StoppingAfter, essence
from tests.support.seeds import first_usual, usual
from tests.support.toy_runs import MANNERS, before_call, driven, driven_by_stops

#: Layers are dropped as soon as there are three; each is committed.
TUNING = Tuning(least_dropped=0, checkpoint=-1.0, table_rest=0.0, commit=-1.0)
#: In memory for a table of all depths, for the marks of a table in a file, and in less.
WAYS = {
    "table": Resources(tuning=TUNING), "file": Resources(memory=1, tuning=replace(TUNING, least_bytes=200_000)),
    "steps": Resources(memory=1, tuning=replace(TUNING, least_bytes=40_000)),
}  # fmt: skip
KEPT = [("frontier", "steps"), ("frontier", "file"), ("depths", "steps"), ("depths", "table"), ("depths", "file")]
SPACES = {
    "pancakes": {"n": "6"}, "tiles": {"rows": "2", "columns": "3"}, "hanoi": {"pegs": "4", "discs": "4"},
    "topspin": {"n": "7"}, "burnt-pancakes": {"n": "4"},
}  # fmt: skip
SMALL, LONG = "pancakes", "tiles"


def kept(data: Path, keep: str, puzzle: str = SMALL, way: str = "table") -> Run:
    """Return the run of a space that keeps this."""
    return explore(puzzle, SPACES[puzzle], keep=keep, data=data, resources=WAYS[way])


@usual(1, ("keep", "way"), [*KEPT])
@usual(1, "puzzle", [*SPACES])
def test_the_layers_are_those_of_a_run_that_keeps_all(puzzle: str, keep: str, way: str, tmp_path: Path) -> None:
    with kept(tmp_path, "layers", puzzle) as whole, kept(tmp_path, keep, puzzle, way) as run:
        assert essence(run) == essence(whole)
        last = run.store.state.depth
        assert run.store.kept.first == (last if way == "table" or (keep, way) == ("depths", "file") else last - 1)
        for depth in range(run.store.kept.first, last + 1):
            np.testing.assert_array_equal(run.layer(depth), whole.layer(depth))
        if keep == "depths":
            for depth, keys in enumerate(map(whole.layer, range(last + 1))):
                assert (DepthTable(run.store).codes(keys) == code_of(depth)).all()


#: The layers of pancakes of 6 (OEIS A092113), cut at the first 60 configurations.
BOUNDED, BOUND = [1, 5, 20, 79], 60


@usual(1, ("keep", "way"), [("layers", "table"), *KEPT])
def test_a_bound_by_configurations_ends_after_a_layer(keep: str, way: str, tmp_path: Path) -> None:
    plan = {"most": BOUND} | ({} if keep == "layers" else {"keep": keep})
    directory = make_run(tmp_path, PuzzleSpec("pancakes", {"n": "6"}), None, plan, WAYS[way])
    assert driven(directory, WAYS[way]).status == "complete"
    with open_run("last", tmp_path) as run:
        assert (run.layer_sizes, run.exhausted, run.depth) == (BOUNDED, False, 3)
    assert verify_run("last", tmp_path, full=True).ok


def test_merged_mirrors_count_once_and_all_starts_at_once_for_a_bound(tmp_path: Path) -> None:
    with explore("hanoi", {"discs": "4"}, merge_mirrors=True, most=3, data=tmp_path) as run:
        assert (run.layer_sizes, run.summary()["represented"]) == ([1, 1, 1], 1 + 3 + 6)
    with explore("pancakes", {"n": "6"}, starts=["1 2 3 4 5 6", "6 5 4 3 2 1"], most=2, data=tmp_path) as run:
        assert run.layer_sizes == [2]


@usual(1, ("keep", "way"), [("frontier", "file"), ("depths", "file"), ("depths", "table"), ("frontier", "table")])
@usual(1, "merged", [True, False])
def test_numbers_in_place_of_keys_change_no_layer(keep: str, way: str, merged: bool, tmp_path: Path) -> None:
    """Five pegs, whose keys have gaps, and the classes of their positions."""
    asked: Any = {"puzzle": "hanoi", "options": {"pegs": "5", "discs": "5"}, "merge_mirrors": merged}
    with (
        explore(**asked, data=tmp_path / "whole") as whole,
        explore(**asked, keep=keep, data=tmp_path / "kept", resources=WAYS[way]) as run,
    ):
        assert essence(run) == essence(whole)
        last = len(run.layer_records()) - 1
        far = run.puzzle.render(ints(run.layer(last))[-1])
        assert run.distance(far) == last
        if keep == "depths":
            assert run.path(far).keys == whole.path(far).keys
            assert run.store.depths_of(whole.layer(3)).tolist() == [3] * len(whole.layer(3))
    for full in (False, True):
        assert verify_run("last", tmp_path / "kept", full=full).faults == []


def test_a_table_by_keys_is_not_taken_for_one_by_numbers(tmp_path: Path) -> None:
    """As before there were numbers."""
    options = {"pegs": "4", "discs": "3"}
    explore("hanoi", options, merge_mirrors=True, keep="depths", data=tmp_path, resources=WAYS["table"]).close()
    with RunStore(next(tmp_path.iterdir()), writable=True) as store:
        Kept(store.kept.first, table=True).stage(store)
        store.commit(store.state)
    with pytest.raises(DamagedError, match="its table of depths is by other numbers"):
        open_run("last", tmp_path)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("puzzle", "options", "sparse"),
    [("hanoi", {"discs": "11"}, 1), ("hanoi", {"discs": "11"}, 64), ("topspin", {"n": "10"}, 8)],
)
def test_short_frontiers_tell_the_blocks_with_marks(
    puzzle: str, options: dict[str, str], sparse: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All frontiers are short, or some; with and without a kernel for bitmaps."""
    monkeypatch.setattr(table, "SPARSE", sparse)
    with (
        explore(puzzle, options, data=tmp_path) as whole,
        explore(puzzle, options, keep="depths", data=tmp_path) as run,
    ):
        assert essence(run) == essence(whole)


@pytest.mark.ci_slow
@pytest.mark.parametrize("manner", ["chunks", *first_usual(1, "crowded", "starving"), "farmed", "durable"])
@pytest.mark.parametrize("keep", first_usual(1, "depths", "frontier"))
def test_in_every_manner(keep: str, manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = MANNERS[manner].take(monkeypatch, "u32")
    spec = PuzzleSpec("pancakes", {"n": "7"})
    for name, plan in (("whole", {}), ("kept", {"keep": keep})):
        driven(make_run(tmp_path / name, spec, None, plan, resources), resources)
    with open_run("last", tmp_path / "whole") as whole, open_run("last", tmp_path / "kept") as run:
        assert essence(run) == essence(whole)
    assert verify_run("last", tmp_path / "kept", full=True).ok


@pytest.mark.ci_slow
def test_distances_and_paths_are_those_of_a_plain_search(tmp_path: Path) -> None:
    """Every configuration, and those that do not exist."""
    with kept(tmp_path, "depths") as run, kept(tmp_path, "layers") as whole:
        expected = reference_distances(run.puzzle.successors, run.puzzle.start)
        keys = run.puzzle.keys(sorted(expected))
        assert run.store.depths_of(keys).tolist() == [expected[key] for key in ints(keys)]
        assert run.store.depths_of(run.puzzle.keys([len(expected), (1 << 31) - 1])).tolist() == [-1, -1]
        for depth in range(run.store.state.depth + 1):
            assert (run.store.contains(depth, keys) == [expected[key] == depth for key in ints(keys)]).all()
        for key in ints(keys)[::97]:
            path = run.path(run.puzzle.render(key))
            assert path.keys == whole.path(run.puzzle.render(key)).keys
            assert len(path) == expected[key]
        hardest, farthest = run.hardest(), whole.layer(whole.store.state.depth)
        assert (hardest.distance, hardest.count) == (whole.store.state.depth, len(farthest))
        np.testing.assert_array_equal(hardest.configurations, farthest)
        assert run.shortest_paths("farthest").count == whole.shortest_paths("farthest").count


@pytest.mark.parametrize("keep", ["frontier", "depths"])
def test_what_is_not_kept_is_refused_with_the_next_step(keep: str, tmp_path: Path) -> None:
    with kept(tmp_path, keep) as run:
        refused: list[Any] = [lambda: run.layer(2), run.configurations, run.diameter, lambda: run.sample(1, (0, 5))]
        if keep == "frontier":
            refused.append(lambda: run.distance("2,1,3,4,5,6"))
        for ask in refused:
            with pytest.raises(
                NotKeptError, match=r"stores no configurations of layer \d, only from layer \d on"
            ) as caught:
                ask()
            assert "keep=" in caught.value.__notes__[0]
        assert run.distance(run.puzzle.render(ints(run.layer(7))[0])) == 7


@pytest.mark.parametrize(
    ("puzzle", "keep", "said"),
    [
        ("superpuzz", "frontier", "may lead to any older layer"),
        ("klotski", "depths", "has no `numbers`, or over"),
        ("pancakes", "nothing", "keeps layers, frontier, depths, not 'nothing'"),
    ],
)
def test_what_cannot_be_kept_is_refused(puzzle: str, keep: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=said):
        explore(puzzle, keep=keep, data=tmp_path)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("keep", "way"), first_usual(3, *(KEPT[number] for number in (0, 3, 4, 1, 2))))
def test_a_run_that_loses_its_power_at_any_commit_goes_on(
    keep: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last commit stands, as after a kill; then `resume`, with more memory or less, comes to the same end."""
    # Commits in the midst of a layer, too.
    monkeypatch.setattr(table, "_PIECE", 8)
    with kept(tmp_path, "layers", LONG) as whole:
        expected = essence(whole)
    commits = Countdown(0, lambda: None)
    with monkeypatch.context() as patch:
        before_call(patch, Ledger, "commit", commits)
        kept(tmp_path / "counted", keep, LONG, way).close()
    assert -commits.left > 10

    class PowerCutError(BaseException):
        pass

    def cut() -> None:
        raise PowerCutError

    for number in range(3, -commits.left + 1, 2):
        data = tmp_path / str(number)
        with monkeypatch.context() as patch, suppress(PowerCutError):
            before_call(patch, Ledger, "_begin_commit", Countdown(number, cut))
            kept(data, keep, LONG, way).close()
        with RunStore(next(data.iterdir())) as left:
            assert left.state.status == "running"
        # A table in a file stays there.
        ways = ["table", "file"] if way == "file" else ["table", "steps", "file"]
        with resume_run("last", data, resources=WAYS[ways[number // 2 % len(ways)]]) as run:
            assert essence(run) == expected
            assert not run.store.has_partial
        assert verify_run("last", data, full=True).ok
        shutil.rmtree(data)


@pytest.mark.ci_slow
def test_a_stop_in_the_midst_of_a_layer_keeps_what_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No checkpoint is due in these sessions: each stop writes one, and so each session gets farther."""
    monkeypatch.setattr(table, "_PIECE", 8)
    spec, resources = PuzzleSpec("pancakes", {"n": "10"}), Resources(workers=2)
    directory = make_run(tmp_path / "kept", spec, None, {"keep": "depths"}, resources)
    assert sum(at > 0 for _, at in driven_by_stops(directory, resources)) > 2
    with explore(spec.name, spec.options, data=tmp_path / "whole") as whole, open_run("last", tmp_path / "kept") as run:
        assert essence(run) == essence(whole)


@pytest.mark.slow
def test_a_stopped_run_knows_the_depths_so_far(tmp_path: Path) -> None:
    directory = make_run(tmp_path, PuzzleSpec(LONG, SPACES[LONG]), None, {"keep": "depths"}, WAYS["table"])
    depths = set[int]()
    for number, checks in enumerate(range(8, 44, 5)):
        with suppress(StopRun):
            driven(directory, WAYS[["table", "steps", "file", "table"][min(number, 3)]], StoppingAfter(checks))
        with open_run(directory.name, tmp_path) as run:
            expected, last = reference_distances(run.puzzle.successors, run.puzzle.start), run.store.state.depth
            found = run.store.depths_of(run.puzzle.keys(sorted(expected))).tolist()
            assert found == [expected[key] if expected[key] <= last else -1 for key in sorted(expected)]
            depths.add(run.store.kept.first)
        report = verify_run(directory.name, tmp_path)
        assert report.ok, report.faults
    assert len(depths) > 2


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "ways",
    [
        *("steps table steps", "file table file", "table file", "steps file"),
        *first_usual(0, "table steps table", "table steps steps", "steps table table"),
    ],
)
def test_sessions_with_more_memory_and_with_less_take_turns(ways: str, tmp_path: Path) -> None:
    """Whatever one has entered or dropped, the other one goes on, and all of it is sound at any time."""
    directory = make_run(tmp_path, PuzzleSpec(LONG, SPACES[LONG]), None, {"keep": "depths"}, WAYS["table"])
    for way in ways.split()[:-1]:
        with suppress(StopRun):
            driven(directory, WAYS[way], StoppingAfter(20))
        for full in (False, True):
            assert verify_run(directory.name, tmp_path, full=full).faults == []
    driven(directory, WAYS[ways.rsplit(maxsplit=1)[-1]])
    with open_run(directory.name, tmp_path) as run, kept(tmp_path / "whole", "layers", LONG) as whole:
        assert essence(run) == essence(whole)
        assert run.store.kept.first >= run.store.state.depth - 1
    assert verify_run(directory.name, tmp_path, full=True).faults == []


WRONG = """
from hakoiri import U32, Puzzle

class Ring(Puzzle):
    name, layout, undirected, most_successors = "ring", U32, True, 2
    numbers = {numbers}

    def usual_start(self):
        return 0

    def successors(self, key):
        return [(key + 1) % 1000, (key - 1) % 1000]
"""


@pytest.mark.parametrize(
    ("numbers", "kernel", "said"),
    [
        (7, False, "configuration 0x3e., but the puzzle has 7 numbers"),
        (990, True, "configuration 0x3e7, but the puzzle has 990 numbers"),
        (0, False, "numbers is 0; expected a whole number up to"), (1e3, False, "numbers is 1000.0; expected"),
        ("many", False, "numbers is 'many'; expected"),
    ],
)  # fmt: skip
def test_wrong_numbers_of_a_user_are_told(numbers: Any, kernel: bool, said: str, tmp_path: Path) -> None:
    """No configuration is lost, and nothing is written outside an array."""
    more = "\n    def expand(self, keys):\n        return super().expand(keys)\n" if kernel else ""
    (tmp_path / "ring.py").write_text(WRONG.format(numbers=repr(numbers)) + more, encoding="utf-8")
    with pytest.raises(PuzzleError, match=said):
        explore(f"{tmp_path / 'ring.py'}:Ring", keep="depths", data=tmp_path / "data", resources=WAYS["table"])


@pytest.mark.parametrize("keep", ["frontier", "depths"])
def test_what_is_proposed_is_answered(keep: str, tmp_path: Path) -> None:
    for number, goal in enumerate((None, "3 1 2 4 5 6")):
        options = SPACES[SMALL] | ({} if goal is None else {"goal": goal})
        with explore(SMALL, options, keep=keep, data=tmp_path / str(number), resources=WAYS["steps"]) as run:
            questions = run.kind(run.store, run.puzzle).questions()
            assert questions == (["farthest"] if goal is None and keep == "depths" else [])
            for question in questions:
                assert len(run.path(question)) == 7
            if goal is not None:
                with pytest.raises(NotKeptError):
                    run.hardest()
                assert [each.name for each in (tmp_path / str(number)).iterdir()] == [run.name]
            elif keep == "depths":
                assert len(run.path()) == 0


def changed(run: Run, change: Any) -> None:
    """Close a run; change the words of the first block of its table, with the right checksum if they are returned."""
    directory = run.store.directory
    run.close()
    with RunStore(directory, writable=True) as store:
        (name,) = store.names(CLOSED)
        raw = store.read(CLOSED, name) or b""
        made = change(np.frombuffer(unseal(raw, "", CLOSED + name), dtype="<u8").copy())
        store.stage(CLOSED, name, raw[:-1] + b"\1" if made is None else seal(made.tobytes(), CLOSED + name))
        store.commit(store.state)


def moved(words: Any) -> Any:
    """Exchange the depths of two keys, so that the numbers stay right."""
    planes = words.reshape(2, -1)
    codes = [int(planes[0, 0]) >> place & 1 | (int(planes[1, 0]) >> place & 1) << 1 for place in range(64)]
    other = next(place for place, code in enumerate(codes) if code not in (codes[1], codes[0]))
    codes[1], codes[other] = codes[other], codes[1]
    for plane in range(2):
        planes[plane, 0] = sum((code >> plane & 1) << place for place, code in enumerate(codes))
    return words


@pytest.mark.parametrize(
    ("change", "said", "full"),
    [
        (lambda words: None, "is damaged: expected checksum", False),
        (lambda words: words & ~np.uint64(4), "the table of depths has", False),
        (moved, "the table of depths lacks", True),
    ],
    ids=["bytes", "lost", "exchanged"],
)
def test_damage_is_found(change: Any, said: str, full: bool, tmp_path: Path) -> None:
    run = kept(tmp_path, "depths")
    name = run.name
    changed(run, change)
    report = verify_run(name, tmp_path, full=full)
    assert not report.ok
    assert any(said in fault for fault in report.faults), report.faults


def test_what_cannot_be_repaired_is_said(tmp_path: Path) -> None:
    run = kept(tmp_path, "depths")
    name = run.name
    changed(run, lambda words: None)
    with pytest.raises(DamagedError, match="cannot be computed again, because older layers are not kept") as caught:
        resume_run(name, tmp_path, repair=True, resources=WAYS["table"])
    assert f"delete_run({name!r})" in caught.value.__notes__[0]


@pytest.mark.ci_slow
def test_a_run_that_goes_on_while_it_is_verified_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table has depths beyond the layers that there were."""
    hakoiri = Hakoiri(tmp_path)
    directory = make_run(hakoiri.data, PuzzleSpec(LONG, SPACES[LONG]), None, {"keep": "depths"}, WAYS["table"])
    with suppress(StopRun):
        driven(directory, WAYS["table"], StoppingAfter(20))
    check = LayersVerifier._check_table

    def gone_on(self: LayersVerifier, *parts: Any) -> None:
        hakoiri("resume", directory.name)
        check(self, *parts)

    monkeypatch.setattr(LayersVerifier, "_check_table", gone_on)
    with pytest.raises(RunHeldError, match="went on while it was verified"):
        verify_run(directory.name, hakoiri.data)
    monkeypatch.undo()
    assert verify_run(directory.name, hakoiri.data).ok
