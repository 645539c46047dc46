"""Beams: exhaustive when wide, the same however they are cut up, within their memory, and going on where they were."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import numpy as np
import pytest

from hakoiri.coordinator.plays.beam import Beam
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control
from hakoiri.puzzles.nakuron.board import Board, parse_board, random_board
from hakoiri.puzzles.nakuron.puzzle import Nakuron
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.plays.moving import SeenBoards
from tests.support.published import KNOWN, Known
from tests.support.runs import SILENT

BOARD = random_board(40, 2, 3)
NAKURON = Nakuron()


@contextmanager
def beam_on(board: Board, workers: int = 1, memory: int | None = None) -> Iterator[Beam]:
    resources = Resources(workers=workers, memory=memory)
    with open_context(NAKURON, PuzzleSpec("nakuron"), resources, Control(), SILENT) as context:
        yield Beam(context, NAKURON, NAKURON.arena(board.text()), 1)


def played(board: Board, moves: list[int]) -> int:
    return NAKURON.replay(NAKURON.spell(moves), board.text())


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: str(known.boards))
def test_a_wide_beam_finds_the_optimum(known: Known) -> None:
    board = parse_board(known.text)
    with beam_on(board) as beam:
        while not beam.finished:
            beam.step(10_000)
        assert (beam.points, len(beam.sequence)) == (known.score, known.moves)
        assert played(board, beam.sequence) == known.score


def test_a_beam_does_not_depend_on_how_it_is_cut_up() -> None:
    ends = []
    for workers in (1, 3):
        with beam_on(BOARD, workers) as beam:
            for _ in range(60):
                beam.step(50)
            ends.append((beam.points, beam.sequence, beam.tried, beam.frontier.digests.tolist()))
    assert ends[0] == ends[1]
    assert played(BOARD, ends[0][1]) == ends[0][0]


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
