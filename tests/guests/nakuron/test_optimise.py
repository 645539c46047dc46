"""Optimisations as runs: every strategy goes on, stops and damage cost little, the best play is proved."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from hakoiri.api import Run
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control
from hakoiri.errors import Hint, OverBudgetError, PuzzleError
from hakoiri.guests.nakuron import board as proving
from hakoiri.guests.nakuron import optimise as making
from hakoiri.guests.nakuron.beam import Beam
from hakoiri.guests.nakuron.board import Board, parse_board, random_board
from hakoiri.guests.nakuron.kind import BEAM
from hakoiri.guests.nakuron.moving import SeenBoards
from hakoiri.guests.nakuron.optimise import Optimise, OptimiseFigures, best_of
from hakoiri.guests.nakuron.plan import Best, Entered, Round, fitted_width, points, ranking, ranks
from hakoiri.guests.nakuron.puzzle import Nakuron
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.render.tables import facts_of
from hakoiri.storage import results
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import BEAM as BEAM_DATABASE
from hakoiri.storage.names import run_directories
from hakoiri.storage.results import ResultRows, read_arrays
from tests.guests.nakuron.test_best_play import STONES, by_brute_force
from tests.support.published import KNOWN, Known
from tests.support.refusals import refused
from tests.support.runs import SILENT, Countdown, StoppingAfter, driven, opened, verified
from tests.support.toy_runs import before_call, spied
from tests.support.user_puzzles import written

BOARD = random_board(40, 2, 3)


@pytest.fixture(autouse=True, scope="module")
def few_boards_bounded() -> Iterator[None]:
    """Bounds from few boards: here they need not be good, and what proves them has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proving, "_MOST_CELLS", 1 << 18)
        yield


class Found(NamedTuple):
    """An optimisation as it stands."""

    directory: Path
    state: State
    best: Best
    figures: OptimiseFigures


def optimised(spec: PuzzleSpec, strategy: str, width: int | None, *price: Any) -> tuple[PuzzleSpec, dict[str, Any]]:
    asked = Optimise.parse_request(
        spec, strategy=strategy, width=width, **dict(zip(("price", "rising"), price, strict=False))
    )
    return asked.spec, dict(asked.plan)


def optimise(data: Path, strategy: str = BEAM, width: int | None = None, control: Any = None, **limits: Any) -> Found:
    """Go on up to limits."""
    memory = limits.pop("memory", None)
    spec, plan = optimised(PuzzleSpec("nakuron", {}, BOARD.text()), strategy, width)
    limits = {"seconds": None, "rounds": None} | limits
    return look(driven(data, spec, "optimise", plan, limits, control, memory=memory))


def look(directory: Path) -> Found:
    with RunStore(directory) as store:
        return Found(directory, store.state, best_of(store), OptimiseFigures.of(store.state))


def played(best: Best) -> int:
    return Nakuron().replay(best.sequence, BOARD.text())


@pytest.mark.parametrize("strategy", [*Nakuron.games, BEAM])
def test_each_strategy_finds_a_play_and_goes_on(strategy: str, tmp_path: Path) -> None:
    width = 10 if strategy == BEAM else None
    first = optimise(tmp_path, strategy, width, rounds=1)
    assert first.state.status == "complete"
    assert played(first.best) == first.best.score > 0
    again = optimise(tmp_path, strategy, width, rounds=2)
    assert again.directory == first.directory
    assert again.best.rank >= first.best.rank
    assert again.figures.rounds == (1 if strategy == "cycle" else 2)
    assert (again.figures.score, again.figures.moves) == (again.best.score, again.best.moves)
    assert optimise(tmp_path, strategy, width, rounds=2).figures == again.figures
    assert verified(again.directory).ok


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """A round of a beam of 20 boards, undisturbed."""
    return optimise(tmp_path_factory.mktemp("whole"), width=20, rounds=1)


@pytest.mark.ci_slow
def test_a_stopped_beam_goes_on_in_mid_search(tmp_path: Path, whole: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    taken_up = spied(monkeypatch, (Beam, "go_on_from"))
    stopped = optimise(tmp_path / "cut", width=20, control=StoppingAfter(60), rounds=1)
    assert stopped.state.status == "interrupted"
    assert 0 < stopped.best.score < whole.best.score
    assert stopped.figures.rounds == 0
    with RunStore(stopped.directory) as store:
        assert len(read_arrays(store)["ends"]) >= 20
    assert not taken_up
    resumed = optimise(tmp_path / "cut", width=20, rounds=1)
    assert (resumed.best.score, resumed.best.sequence) == (whole.best.score, whole.best.sequence)
    assert resumed.figures == whole.figures
    assert taken_up["go_on_from"] == 1
    with RunStore(resumed.directory) as store:
        assert read_arrays(store) == {}


@pytest.mark.ci_slow
def test_a_damaged_beam_is_said_and_begins_anew(tmp_path: Path, whole: Found) -> None:
    stopped = optimise(tmp_path / "cut", width=20, control=StoppingAfter(60), rounds=1)
    with RunStore(stopped.directory, writable=True) as store:
        store.stage(BEAM_DATABASE, b"boards/\0\0\0\0", b"nothing of the kind")
        store.commit(store.state)
    assert not verified(stopped.directory).ok
    resumed = optimise(tmp_path / "cut", width=20, rounds=1)
    assert (resumed.best.score, resumed.best.sequence) == (whole.best.score, whole.best.sequence)
    assert verified(resumed.directory).ok


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an optimisation that came to its end."""
    return optimise(tmp_path_factory.mktemp("ended"), width=10, rounds=1).directory


@pytest.fixture
def found(ended: Path, tmp_path: Path) -> Found:
    """A copy of it, to be spoiled."""
    return look(shutil.copytree(ended, tmp_path / ended.name))


def test_the_bound_and_the_gap_are_told_and_a_bound_that_lies_is_found_out(found: Found) -> None:
    bound = Nakuron().bound(BOARD.text())
    with opened(found.directory) as job:
        summary = job.summary(None)
        shown = facts_of(job, summary | found.figures.as_dict() | {"strategy": BEAM, "seed": 1})
    assert (found.figures.bound, summary["gap"]) == (bound, bound - found.best.score)
    assert (shown["no play scores more than"], shown["gap"]) == (bound, bound - found.best.score)
    # That less was proved once is no fault.
    for said, faults in (
        (bound + 1, []),
        (bound - 1, [f"the bound of all scores is {bound:,}, but {bound - 1:,} in the state"]),
    ):
        with RunStore(found.directory, writable=True) as store:
            store.commit(replace(store.state, figures=found.figures.as_dict() | {"bound": said}))
        found_out = verified(found.directory).faults
        assert len(found_out) == len(faults)
        assert all(fault in each for fault, each in zip(faults, found_out, strict=True))


def test_a_round_better_than_the_best_play_is_found_out(found: Found) -> None:
    with opened(found.directory) as job:
        number, one = next(iter(job.stored().items()))
    with RunStore(found.directory, writable=True) as store:
        ResultRows(store, "round").stage(number, replace(one, score=found.best.score + 1), "number")
        store.commit(store.state)
    assert verified(found.directory).faults == [f"round {number + 1} scores more than the best play"]


@pytest.mark.ci_slow
def test_the_time_is_kept_and_a_play_found_whatever_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that a second is as much work wherever others have the processors.
    monkeypatch.setattr(time, "monotonic", time.process_time)
    first = optimise(tmp_path, seconds=0.001)
    assert first.best.score > 0
    again = optimise(tmp_path, seconds=1.0)
    assert again.best.rank >= first.best.rank
    # From the first call's end on, and not much more than was allowed.
    assert again.state.seconds - first.state.seconds < 3.0
    assert again.figures.moves_tried > first.figures.moves_tried


@pytest.mark.ci_slow
def test_a_price_of_a_lost_ball_makes_another_beam(tmp_path: Path) -> None:
    spec = PuzzleSpec("nakuron", {}, BOARD.text())
    plans = [optimised(spec, BEAM, 10, *value)[1] for value in ((0.5, False), (0.0, False), (0.5, True))]
    assert plans[0] == optimised(spec, BEAM, 10)[1]
    limits, spec_of_all = {"seconds": None, "rounds": 1}, optimised(spec, BEAM, 10)[0]
    found = [look(driven(tmp_path, spec_of_all, "optimise", plan, limits)) for plan in plans]
    assert len({each.directory for each in found}) == 3
    assert all(played(each.best) == each.best.score for each in found)
    with refused(
        PuzzleError, "price applies to strategy beam only", Hint("leave out", "price"), Hint("leave out", "strategy")
    ):
        driven(tmp_path, spec_of_all, "optimise", optimised(spec, "greedy", None, 0.2)[1], limits)


def test_what_cannot_be(tmp_path: Path) -> None:
    with refused(
        PuzzleError, "unknown strategy 'luck'", Hint("give", "strategy", "cycle|random|greedy|two-step|sample|beam")
    ):
        optimise(tmp_path, "luck", rounds=1)
    with refused(
        PuzzleError, "width applies to strategy beam only", Hint("leave out", "width"), Hint("leave out", "strategy")
    ):
        optimise(tmp_path, "greedy", 3, rounds=1)
    with refused(OverBudgetError, "width 5,000 does not fit", Hint("raise", "memory"), Hint("give", "width", "49")):
        optimise(tmp_path, width=5_000, rounds=1, memory=1 << 20)


def test_the_width_goes_by_the_seconds_since_the_beam_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, began = list[float](), time.monotonic()
    before_call(monkeypatch, Optimise, "_width", lambda *given: seconds.append(given[-1]))
    optimise(tmp_path, width=5, rounds=1)
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] <= seconds[-1] <= time.monotonic() - began


def test_only_boards_that_have_no_key_go_into_the_plan(tmp_path: Path) -> None:
    usual = PuzzleSpec("nakuron")
    assert optimised(usual, "greedy", None)[0] == usual
    assert optimised(usual, "greedy", None)[1]["board"] is None
    spec, plan = optimised(PuzzleSpec("nakuron", {}, BOARD.text()), "greedy", None)
    assert (spec, plan["board"]) == (usual, BOARD.text())
    own = with_own_file(PuzzleSpec(written(tmp_path, STONES, "Stones"), {}, "0x1"))
    spec, plan = optimised(own, BEAM, 500)
    assert (spec, plan["board"]) == (own, None)


def test_the_width_fits_the_time() -> None:
    before = Round(0, 8, 100, 1_000, 10_000, 1.0, list(range(0, 1_000, 10)))
    assert before.layers_left(0) == 1_000
    assert before.layers_left(500) == 500
    wide = fitted_width(before, 0, 60, 20_000, 10**9)
    assert wide == pytest.approx(60 * 20_000 / 1_300, rel=0.1)
    assert fitted_width(before, 500, 60, 20_000, 10**9) == pytest.approx(2 * wide, rel=0.01)
    assert fitted_width(before, 0, 60, 20_000, 50) == 50
    assert fitted_width(before, 0, 0, 20_000, 50) == 1


@pytest.mark.parametrize(("stones", "stride"), [(7, 2), (9, 3)])
def test_a_user_s_scored_puzzle_is_optimised(stones: int, stride: int, tmp_path: Path) -> None:
    word = written(tmp_path, STONES, "Stones")
    named = with_own_file(PuzzleSpec(word, {"stones": str(stones), "stride": str(stride)}))
    spec, plan = optimised(named, BEAM, 500)
    found = look(driven(tmp_path / "data", spec, "optimise", plan, {"seconds": None, "rounds": 1}))
    # A beam that holds all there is finds the best there is.
    assert (found.best.score, found.best.moves) == by_brute_force(stones, stride)
    assert verified(found.directory).ok
    with Run(RunStore(found.directory)) as run:
        play = run.best_play()
        assert (play.score, play.moves, play.proved) == (found.best.score, found.best.moves, False)
        assert run.puzzle.replay(play.sequence) == play.score  # type: ignore[attr-defined]


# The rules of the contest: ranks, points, bonuses and ties


def test_a_problem_gives_11_points_down_to_1_and_a_bonus() -> None:
    plays = {f"team {number}": Entered(100 - number, 10, 1.0) for number in range(13)}
    for problem, bonus in ((1, 0), (2, 1), (3, 2)):
        assert [*points(problem, plays).values()] == [11 + bonus, *range(10, 0, -1), 0, 0]


def test_ties_go_by_moves_then_by_time_and_a_team_without_a_play_wins_nothing() -> None:
    plays = {
        "slow": Entered(9, 5, 2.0), "long": Entered(9, 6, 1.0), "quick": Entered(9, 5, 1.0), "none": Entered(0, 0, 0),
    }  # fmt: skip
    assert ranks(plays) == {"quick": 1, "slow": 2, "long": 3, "none": 4}
    assert points(2, plays) == {"quick": 12, "slow": 10, "long": 9, "none": 0}
    assert ranks({"one": Entered(9, 5, 1.0), "other": Entered(9, 5, 1.0), "less": Entered(8, 5, 1.0)}) == {
        "one": 1, "other": 1, "less": 3,
    }  # fmt: skip


def test_the_contest_is_won_by_points_then_scores_moves_and_time() -> None:
    def problems(one: Entered, other: Entered) -> dict[str, Entered]:
        return {"a": one, "b": other}

    # Each wins once; the bonus of problem 2 decides.
    first = {1: problems(Entered(9, 5, 1), Entered(8, 5, 1)), 2: problems(Entered(1, 5, 1), Entered(2, 5, 1))}
    assert [(each.team, each.place, each.points) for each in ranking([first])] == [("b", 1, 22), ("a", 2, 21)]
    # Of two boards of problem 1 each wins one: the sum of scores decides, then the fewer moves.
    second = [{1: problems(Entered(9, 5, 1), Entered(8, 5, 1))}, {1: problems(Entered(3, 5, 1), Entered(5, 5, 1))}]
    assert [(each.team, each.place, each.points, each.score) for each in ranking(second)] == [
        ("b", 1, 21, 13), ("a", 2, 21, 12),
    ]  # fmt: skip
    third = [{1: problems(Entered(9, 7, 1), Entered(8, 5, 1))}, {1: problems(Entered(8, 5, 1), Entered(9, 6, 1))}]
    assert [each.team for each in ranking(third)] == ["b", "a"]


# Beams: exhaustive when wide, the same however they are cut up, within their memory, and going on where they were


NAKURON = Nakuron()


@contextmanager
def beam_on(board: Board, workers: int = 1, memory: int | None = None) -> Iterator[Beam]:
    resources = Resources(workers=workers, memory=memory)
    with open_context(NAKURON, PuzzleSpec("nakuron"), resources, Control(), SILENT) as context:
        yield Beam(context, NAKURON, NAKURON.arena(board.text()), 1)


def played_by_beam(board: Board, moves: list[int]) -> int:
    return NAKURON.replay(NAKURON.spell(moves), board.text())


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: str(known.boards))
def test_a_wide_beam_finds_the_optimum(known: Known) -> None:
    board = parse_board(known.text)
    with beam_on(board) as beam:
        while not beam.finished:
            beam.step(10_000)
        assert (beam.points, len(beam.sequence)) == (known.score, known.moves)
        assert played_by_beam(board, beam.sequence) == known.score


def test_a_beam_does_not_depend_on_how_it_is_cut_up() -> None:
    ends = []
    for workers in (1, 3):
        with beam_on(BOARD, workers) as beam:
            for _ in range(60):
                beam.step(50)
            ends.append((beam.points, beam.sequence, beam.tried, beam.frontier.digests.tolist()))
    assert ends[0] == ends[1]
    assert played_by_beam(BOARD, ends[0][1]) == ends[0][0]


def test_a_beam_goes_on_from_its_arrays() -> None:
    with beam_on(BOARD) as whole, beam_on(BOARD) as resumed:
        for _ in range(30):
            whole.step(20)
        resumed.go_on_from(whole.arrays())
        for _ in range(30):
            whole.step(20)
            resumed.step(20)
        assert (whole.points, whole.sequence, whole.tried) == (resumed.points, resumed.sequence, resumed.tried)
        assert np.array_equal(whole.frontier.boards, resumed.frontier.boards)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("boards", lambda array: array[:, :, :5]),
        ("boards", lambda array: array.astype(np.int64)),
        ("digests", lambda array: array[:, :1]),
        ("takes", lambda array: array[:-1]),
        ("points", lambda array: array[:-1]),
        ("met", lambda array: array[:-1]),
    ],
)
def test_a_beam_does_not_go_on_from_arrays_of_another_form(name: str, harm: Callable[[np.ndarray], np.ndarray]) -> None:
    """They come out of a run, and kernels look up one in another."""
    with beam_on(BOARD) as whole, beam_on(BOARD) as resumed:
        whole.step(20)
        arrays = whole.arrays()
        with pytest.raises(ValueError, match=r"array \d of the result of task move is not|different lengths"):
            resumed.go_on_from(arrays | {name: harm(arrays[name])})


# Memory


def test_boards_met_are_those_of_a_dictionary() -> None:
    random, met, plain = Random(3), SeenBoards(1 << 22), dict[tuple[int, int], int]()
    for _ in range(60):
        digests = [(random.randrange(40), random.randrange(40)) for _ in range(50)]
        points = [random.randrange(9) for _ in digests]
        expected = []
        for place, (digest, score) in enumerate(zip(digests, points, strict=True)):
            if plain.get(digest, -1) < score:
                plain[digest] = score
                expected.append(place)
        found = met.fresh(np.array(digests, dtype=np.uint64), np.array(points), np.array(points))
        assert found.tolist() == expected
    least = 4
    met.forget(least)
    assert len(met) == sum(score >= least for score in plain.values())


@pytest.mark.parametrize("memory", [1 << 16, 1 << 20])
def test_boards_met_keep_to_their_memory_and_forget_the_earliest(memory: int) -> None:
    met, size = SeenBoards(memory), 4_000
    for layer in range(60):
        digests = np.arange(layer * size, (layer + 1) * size, dtype=np.uint64)[:, None].repeat(2, axis=1)
        taken = np.full(size, layer)
        assert len(met.fresh(digests, taken, taken)) == size
        assert sum(array.nbytes for array in (met._digests, met._figures)) <= memory
    held = met.arrays()[1][:, 1]
    assert len(held) == len(met) > memory // 300
    assert held.max() == 59
    assert held.min() > 59 - 2 * memory // (24 * size) - 2


def test_the_bound_is_computed_by_the_session_after_one_that_was_stopped_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = Control()
    with monkeypatch.context() as patch:
        before_call(patch, Nakuron, "bound", lambda *_: control.interrupt("stopped by the test"))
        found = optimise(tmp_path, width=50, rounds=2, control=control)
    assert (found.state.status, found.figures.rounds, found.figures.bound) == ("interrupted", 2, None)
    found = optimise(tmp_path, width=50, rounds=2)
    assert found.state.status == "complete"
    assert found.figures.bound is not None


@pytest.mark.parametrize("number", range(30, 34))
def test_a_beam_stays_as_it_was_if_memory_runs_out_while_the_next_is_stored(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any of its pieces."""

    def fail() -> None:
        raise MemoryError

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(making, "_FIRST_BEAM_SECONDS", 0)
        patch.setattr(making, "_BEAM_SECONDS", 0)
        patch.setattr(making, "_BEAM_PART", 1e9)
        before_call(patch, results, "seal", Countdown(number, fail))
        optimise(tmp_path, width=200, rounds=1)
    (directory,) = run_directories(tmp_path)
    with RunStore(directory) as store:
        assert read_arrays(store)
    assert verified(directory).ok
