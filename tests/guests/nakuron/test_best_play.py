"""The best play of a user's scored puzzle: against brute force, by the API, and where the puzzle's claims are wrong."""

from pathlib import Path

import pytest

from hakoiri.api import Run, explore
from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.errors import PuzzleError
from tests.support.commands import Hakoiri
from tests.support.runs import verified
from tests.support.user_puzzles import changed, written

#: A walk over a row of stones, each worth something until it is left or stepped over: then it sinks.
STONES = """\
from hakoiri import U32, Number, Scored

WORTH = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3)


class Stones(Scored):
    name = "stones"
    options = {"stones": Number(8, 2, 10), "stride": Number(2, 1, 3)}
    layout = U32
    undirected = False
    most_successors = 6

    def prepare(self, start):
        self.stones, self.stride = int(self.parameters["stones"]), int(self.parameters["stride"])

    def usual_start(self):
        return (1 << self.stones) - 2

    def successors(self, key):
        here, there = key >> 16, key & 0xFFFF
        found = []
        for stone in range(max(1, here - self.stride), here + self.stride + 1):
            if stone != here and there >> stone & 1:
                between = sum(1 << other for other in range(min(here, stone) + 1, max(here, stone)))
                found.append(stone << 16 | there & ~between & ~(1 << stone))
        # Back to the shore, which scores nothing and costs a move.
        return found + [there] * (here > 0)

    def score(self, before, after):
        return WORTH[after >> 16] if after >> 16 else 0

    def reserve(self, key):
        return sum(worth for stone, worth in enumerate(WORTH[: self.stones]) if key >> stone & 1)
"""


#: Added to it: a kernel whose scores are not those of the rules.
LYING = """
    def scored(self, keys):
        moves = super().scored(keys)
        return moves._replace(scores=moves.scores + (moves.scores > 0))
"""


def by_brute_force(stones: int, stride: int) -> tuple[int, int]:
    """The best score and the fewest moves for it, by every play there is."""
    worth, best = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3), [(0, 0)]

    def play(here: int, there: frozenset[int], score: int, moves: int) -> None:
        best[0] = max(best[0], (score, -moves))
        for stone in sorted(there):
            if 0 < abs(stone - here) <= stride:
                left = {other for other in there if not min(here, stone) <= other <= max(here, stone)}
                play(stone, frozenset(left), score + worth[stone], moves + 1)
        if here:
            play(0, there, score, moves + 1)

    play(0, frozenset(range(1, stones)), 0, 0)
    return best[0][0], -best[0][1]


def run_of(tmp_path: Path, text: str = STONES, **options: str) -> Run:
    return explore(written(tmp_path, text, "Stones"), options, data=tmp_path / "data")


@pytest.mark.parametrize(("stones", "stride"), [(2, 1), (6, 1), (7, 2), (9, 3)])
def test_the_best_play_of_a_user_s_puzzle_is_that_of_brute_force(stones: int, stride: int, tmp_path: Path) -> None:
    with run_of(tmp_path, stones=str(stones), stride=str(stride)) as run:
        play = run.best_play()
        assert (play.score, len(play.path) - 1) == by_brute_force(stones, stride)
        assert (play.moves, play.proved) == (len(play.path) - 1, True)
        assert play.path[0] == run.puzzle.start
        assert all(
            after in run.puzzle.successors(before) for before, after in zip(play.path, play.path[1:], strict=False)
        )
        assert run.puzzle.replay(play.sequence) == play.score  # type: ignore[attr-defined]
        filmed = [*run.puzzle.filmed(play.sequence)]  # type: ignore[attr-defined]
        assert [found.move for found in filmed] == ["start", *run.puzzle.describe_moves(play.path)]
        assert sum(found.score for found in filmed) == play.score


def test_the_best_play_is_in_the_json_and_verified(tmp_path: Path) -> None:
    hakoiri = Hakoiri(tmp_path)
    found = hakoiri.ask("run", written(tmp_path, STONES, "Stones"))
    assert (found["score"], found["moves"]) == by_brute_force(8, 2)
    assert hakoiri.ask("verify", "last")["checked"]["moves of the best play"] == found["moves"]


def test_a_best_play_that_the_rules_do_not_give_is_a_fault(tmp_path: Path) -> None:
    """The kernel scores one more for every move than the rules do, and the reserve lets it."""
    with_more = changed(("return sum(worth for", "return 20 * (key & 0xFFFF).bit_count() + sum(worth for"), text=STONES)
    with run_of(tmp_path, with_more + LYING) as run:
        with pytest.raises(ContradictionError, match="by the reference rules"):
            run.best_play()
        directory = run.store.directory
    assert any("by the reference rules" in fault for fault in verified(directory).faults)


def test_a_move_that_scores_more_than_the_reserve_falls_is_refused(tmp_path: Path) -> None:
    greedy = changed(("return WORTH[after >> 16] if", "return 1 + WORTH[after >> 16] if"), text=STONES)
    with run_of(tmp_path, greedy) as run, pytest.raises(PuzzleError, match=r"and the move scores 5"):
        run.best_play()


def test_a_play_with_a_move_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with run_of(tmp_path) as run:
        for play in ("0 99", "0 x", "9"):
            with pytest.raises(PuzzleError, match="is not a legal move"):
                run.puzzle.replay(play)  # type: ignore[attr-defined]


def test_a_mistake_in_the_scores_is_said_with_its_line(tmp_path: Path) -> None:
    faulty = changed(("        return WORTH[after >> 16] if", "        return WORTH[after] if"), text=STONES)
    with run_of(tmp_path, faulty) as run, pytest.raises(PuzzleError, match=r"score of .* failed: line \d+, IndexError"):
        run.best_play()


def test_moves_that_do_not_score_have_no_best_play(tmp_path: Path) -> None:
    with (
        explore("hanoi", {"discs": "2"}, data=tmp_path) as run,
        pytest.raises(UnanswerableError, match="has no scored moves"),
    ):
        run.best_play()
