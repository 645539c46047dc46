"""Beams and optimisations of Nakuron: exhaustive when wide, the same however cut up, and going on where they were."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from coordinator.errors import OverBudgetError, StopRun
from coordinator.executors.opening import open_context
from coordinator.nakuron.beam import Beam, Trail
from coordinator.nakuron.optimise import kept, optimise, played
from coordinator.nakuron.optimise_plan import STRATEGIES, Limits, Outcome, Plan, Round, fitted_width
from coordinator.session.control import Control, SilentObserver
from coordinator.session.resources import Resources
from puzzles.errors import PuzzleError
from puzzles.nakuron.board import Board, parse_board, random_board
from puzzles.nakuron.ground import field_of, ground_of
from puzzles.registry import PuzzleSpec
from storage.errors import DamagedError, StorageError
from storage.results.checkpoint import read_checkpoint, write_checkpoint
from tests.support.nakuron_boards import KNOWN

BOARD = random_board(40, 2, 3)
SILENT = SilentObserver()


@contextmanager
def beam_on(board: Board, workers: int = 1) -> Iterator[Beam]:
    spec = PuzzleSpec("nakuron")
    puzzle = spec.build()
    with open_context(puzzle, spec, Resources(workers=workers), Control(), SILENT) as context:
        yield Beam(context, ground_of(board), field_of(board), board.balls, 1)


def run(plan: Plan, data: Path, control: Control | None = None, **limits: float) -> Outcome:
    return optimise(plan, data, Resources(workers=2), Limits(**limits), control or Control(), SILENT)  # type: ignore[arg-type]


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: str(known.boards))
def test_a_wide_beam_finds_the_optimum(known: object) -> None:
    board = parse_board(known.text)  # type: ignore[attr-defined]
    with beam_on(board) as beam:
        while not beam.finished:
            beam.step(10_000)
        sequence = "".join(map(str, beam.sequence))
        assert (beam.points, len(sequence)) == (known.score, known.moves)  # type: ignore[attr-defined]
        assert played(board, sequence) == known.score  # type: ignore[attr-defined]


def test_a_beam_does_not_depend_on_how_it_is_cut_up() -> None:
    ends = []
    for workers in (1, 3):
        with beam_on(BOARD, workers) as beam:
            for _ in range(60):
                beam.step(50)
            ends.append((beam.points, beam.sequence, beam.tilts, beam.frontier.digests.tolist()))
    assert ends[0] == ends[1]
    assert played(BOARD, "".join(map(str, ends[0][1]))) == ends[0][0]


def test_a_frontier_holds_no_board_twice_and_knows_its_points() -> None:
    with beam_on(BOARD) as beam:
        for _ in range(40):
            beam.step(30)
            digests = list(map(tuple, beam.frontier.digests.tolist()))
            assert len(set(digests)) == len(digests) <= 30
        for place in range(0, len(digests), 7):
            sequence = "".join(map(str, beam.trail.sequence(place)))
            assert len(sequence) == beam.depth == 40
            assert played(BOARD, sequence) == beam.frontier.points[place]


def test_a_beam_goes_on_from_its_arrays(tmp_path: Path) -> None:
    with beam_on(BOARD) as whole, beam_on(BOARD) as resumed:
        for _ in range(30):
            whole.step(20)
        write_checkpoint(tmp_path / "there.npz", whole.arrays())
        arrays = read_checkpoint(tmp_path / "there.npz")
        assert arrays is not None
        resumed.go_on_from(arrays)
        for _ in range(30):
            whole.step(20)
            resumed.step(20)
        assert (whole.points, whole.sequence, whole.tilts) == (resumed.points, resumed.sequence, resumed.tilts)
        assert np.array_equal(whole.frontier.fields, resumed.frontier.fields)


def test_a_trail_forgets_only_what_led_nowhere() -> None:
    trail = Trail([], [])
    for parents, sides in (([0, 0], [0, 1]), ([0, 1, 1], [2, 3, 0]), ([2, 2], [1, 3])):
        trail.add(np.array(parents), np.array(sides))
    before = [trail.sequence(place) for place in range(2)]
    trail.prune()
    assert [trail.sequence(place) for place in range(2)] == before == [[1, 0, 1], [1, 0, 3]]
    assert Trail.of(trail.arrays()).sequence(1) == before[1]
    assert trail.arrays()["ends"].tolist() == [1, 2, 4]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_each_strategy_finds_a_play_and_goes_on(strategy: str, tmp_path: Path) -> None:
    plan = Plan(BOARD, strategy, width=10 if strategy == "beam" else None)
    first = run(plan, tmp_path, rounds=1)
    assert played(BOARD, first.best.sequence) == first.best.score > 0
    again = run(plan, tmp_path, rounds=2)
    assert again.best.rank >= first.best.rank
    assert again.rounds == (1 if strategy == "cycle" else 2)
    assert kept(plan, tmp_path).best == again.best
    assert run(plan, tmp_path, rounds=2).tilts == again.tilts


def test_a_stopped_beam_goes_on_in_mid_search(tmp_path: Path) -> None:
    class Stopping(Control):
        left = 25

        def check(self) -> None:
            self.left -= 1
            if not self.left:
                raise StopRun("interrupted", "enough")

    plan = Plan(BOARD, "beam", width=20)
    whole = run(plan, tmp_path / "whole", rounds=1)
    with pytest.raises(StopRun):
        run(plan, tmp_path / "cut", Stopping(), rounds=1)
    stopped = kept(plan, tmp_path / "cut")
    assert 0 < stopped.best.score < whole.best.score
    assert stopped.rounds == 0
    arrays = read_checkpoint(plan.checkpoint(tmp_path / "cut"))
    assert arrays is not None
    assert len(arrays["ends"]) >= 20
    resumed = run(plan, tmp_path / "cut", rounds=1)
    assert (resumed.best.score, resumed.best.sequence) == (whole.best.score, whole.best.sequence)
    assert resumed.tilts == whole.tilts
    assert not plan.checkpoint(tmp_path / "cut").exists()


def test_a_damaged_checkpoint_begins_the_beam_anew(tmp_path: Path) -> None:
    plan = Plan(BOARD, "beam", width=10)
    path = plan.checkpoint(tmp_path)
    path.parent.mkdir(parents=True)
    for damaged in (b"", b"PK nothing", b"\x93NUMPY"):
        path.write_bytes(damaged)
        with pytest.raises(DamagedError, match=f"{path.name} is damaged"):
            read_checkpoint(path)
    assert run(plan, tmp_path, rounds=1).best.score > 0


def test_the_time_is_kept_and_a_play_found_whatever_it_is(tmp_path: Path) -> None:
    assert run(Plan(BOARD, "beam"), tmp_path, seconds=0.001).best.score > 0
    found = run(Plan(BOARD, "beam"), tmp_path, seconds=1.0)
    assert found.best.score > 0
    assert played(BOARD, found.best.sequence) == found.best.score


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=r"--strategy luck: allowed are cycle\|random"):
        run(Plan(BOARD, "luck"), tmp_path, rounds=1)
    with pytest.raises(PuzzleError, match="--width is for beams"):
        run(Plan(BOARD, "greedy", width=3), tmp_path, rounds=1)
    small = Resources(workers=1, memory=1 << 20)
    with pytest.raises(OverBudgetError, match="ask for --width 68"):
        optimise(Plan(BOARD, "beam", width=5_000), tmp_path, small, Limits(rounds=1), Control(), SILENT)
    with pytest.raises(StorageError, match="cannot be written"):
        write_checkpoint(tmp_path / "nowhere" / "x.npz", {})


def test_the_width_fits_the_time() -> None:
    before = Round(0, 8, 100, 1_000, 10_000, 1.0, list(range(0, 1_000, 10)))
    assert before.layers_left(0) == 1_000
    assert before.layers_left(500) == 500
    wide = fitted_width(before, 0, 60, 20_000, 10**9)
    assert wide == pytest.approx(60 * 20_000 / 1_300, rel=0.1)
    assert fitted_width(before, 500, 60, 20_000, 10**9) == pytest.approx(2 * wide, rel=0.01)
    assert fitted_width(before, 0, 60, 20_000, 50) == 50
    assert fitted_width(before, 0, 0, 20_000, 50) == 1
