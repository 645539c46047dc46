"""Studies: each figure against searches by the papers' words, stops and goings-on, caps that count neither way."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.coordinator.errors import OverBudgetError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control
from hakoiri.coordinator.studies.deals import StudyDeals, StudyFigures, kept_deals
from hakoiri.coordinator.studies.table import CAP, DEALS, Deal, StudyPlan, deals_of, dealt, tally
from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.puzzles.capabilities import Dealt, SearchOrder
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.worker.tasks import SOLVERS
from tests.support import card_rules as rules
from tests.support.refusals import refused
from tests.support.runs import SILENT, StoppingAfter, driven, opened


@dataclass(frozen=True)
class Plan:
    """A study: what decides its run, and up to where it goes."""

    puzzle: str
    sizes: tuple[int, ...]
    deals: int = DEALS
    seed: int = 1
    strategy: SearchOrder = "bfs"
    cap: int = CAP
    shorten: bool = False


SMALL = Plan("superpuzz", (3,), deals=20)


def begun(plan: Plan, data: Path, control: Control | None = None, **resources: Any) -> Path:
    """The run of a study, driven as far as it goes."""
    pinned = asdict(StudyPlan(plan.seed, plan.strategy, plan.cap, plan.shorten))
    limits = {"sizes": list(plan.sizes), "deals": plan.deals}
    return driven(data, PuzzleSpec(plan.puzzle), "study", pinned, limits, control, **resources)


def kept(directory: Path) -> dict[int, list[Deal]]:
    with opened(directory) as job:
        return kept_deals(job.study, job.store)


def done(plan: Plan, data: Path, **resources: Any) -> dict[int, list[Deal]]:
    return kept(begun(plan, data, **resources))


def state_of(directory: Path) -> State:
    with RunStore(directory) as store:
        return store.state


def plain_deal(cards: int, seed: int, number: int) -> list[int]:
    """SplitMix64 and Fisher-Yates, as docs/how-to/studies.md defines the deals."""
    state, deal = seed * 2**32 + number, list(range(cards))
    for place in range(cards - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        word = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        other = (word ^ word >> 31) % (place + 1)
        deal[place], deal[other] = deal[other], deal[place]
    return deal


def plain_board(plan: Plan, size: int, number: int) -> rules.Board:
    """A deal's first board, from its definition alone."""
    suits, ranks = ("1234", rules.GAP_RANKS) if plan.puzzle == "gap" else ("HDSC", rules.PUZZ_RANKS)
    words = [suits[card // size] + ranks[card % size] for card in plain_deal(4 * size, plan.seed, number)]
    text = "/".join(" ".join(words[row * size : (row + 1) * size]) for row in range(4))
    return rules.gap_start(text) if plan.puzzle == "gap" else rules.puzz_start(text)


def nearest(boards: dict[rules.Board, int], is_goal: Callable[[rules.Board], bool]) -> int | None:
    return min((moves for board, moves in boards.items() if is_goal(board)), default=None)


def moves_of(deals: list[Deal]) -> list[tuple[int | None, int | None]]:
    return [(d.first.moves if d.first else None, d.fixed.moves if d.fixed else None) for d in deals]


def without_seconds(deals: list[Deal]) -> list[Deal]:
    return [replace(deal, seconds=0.0) for deal in deals]


@pytest.mark.parametrize("strategy", [pytest.param("bfs", marks=pytest.mark.slow), "dfs"])
def test_superpuzz_by_the_words_of_the_paper(strategy: Any, tmp_path: Path) -> None:
    plan = replace(SMALL, seed=5, strategy=strategy)
    (deals,) = done(plan, tmp_path).values()
    assert [deal.number for deal in deals] == list(range(20))
    for deal in deals:
        boards = rules.distances(plain_board(plan, 3, deal.number), gap=False)
        for found, fixed in ((deal.first, False), (deal.fixed, True)):
            wanted = nearest(boards, lambda board, fixed=fixed: rules.is_puzz_goal(board, fixed))  # type: ignore[misc]
            assert (found is None) == (wanted is None)
            assert strategy == "dfs" or found is None or found.moves == wanted
            assert found is None or wanted is None or found.moves >= wanted
        if deal.exhausted and strategy == "bfs":
            assert (deal.positions, deal.depth) == (len(boards), max(boards.values()))
    assert len(set(moves_of(deals))) > 5


@pytest.mark.parametrize("strategy", ["bfs", "dfs"])
@pytest.mark.parametrize("ranks", [3, 4])
def test_gap_by_the_words_of_the_paper(ranks: int, strategy: Any, tmp_path: Path) -> None:
    plan = Plan("gap", (ranks,), 20, seed=2, strategy=strategy)
    (deals,) = done(plan, tmp_path).values()
    outcomes = [deal.outcome("first") for deal in deals]
    assert {"solvable", "unsolvable"} == set(outcomes)
    for deal in deals:
        boards = rules.distances(plain_board(plan, ranks, deal.number), gap=True)
        wanted = nearest(boards, rules.is_gap_goal)
        assert (None if deal.first is None else deal.first.moves) == wanted
        assert (deal.positions, deal.exhausted, deal.capped) == (len(boards), True, False)
        assert deal.depth == max(boards.values()) or strategy == "dfs"


# Caps


@pytest.mark.parametrize(("announced", "fits"), [("", True), ("2\n", True), ("3\n", False), ("1\n", False)])
def test_as_many_deals_as_the_first_line_announces(announced: str, fits: bool) -> None:
    puzzle = PuzzleSpec("gap", {"ranks": "4"}).build()
    assert isinstance(puzzle, Dealt)
    deals = [puzzle.random_deal(1, number) for number in (0, 1)]
    text = announced + "\n\n".join(deal.replace("/", "\n") for deal in deals)
    if fits:
        assert list(deals_of(puzzle, text)) == [puzzle.tidy_deal(deal) for deal in deals]
    else:
        with pytest.raises(ConfigurationError, match=f"the first line announces {announced.strip()} deals?, found 2"):
            list(deals_of(puzzle, text))


def test_a_deal_is_solved_to_its_own_goal_alone() -> None:
    spec = PuzzleSpec("gap", {"ranks": "3", "goal": "** 11 ** **/** ** ** **/** ** ** **/** ** ** **"})
    assert spec.build().parameters["goal"].startswith("** 11")
    with pytest.raises(PuzzleError, match="gap is always solved to its own goal") as refusal:
        dealt(spec)
    assert refusal.value.hints == (Hint("run", "gap"),)


def test_a_capped_deal_counts_neither_way(tmp_path: Path) -> None:
    (whole,) = done(replace(SMALL, puzzle="gap", deals=60), tmp_path).values()
    (capped,) = done(replace(SMALL, puzzle="gap", deals=60, cap=20), tmp_path).values()
    assert 5 < sum(deal.capped for deal in capped) < 55
    for before, after in zip(whole, capped, strict=True):
        assert after.capped == (before.positions > 20)
        assert after.positions == min(20, before.positions)
        if after.outcome("first") != "capped":
            assert after.outcome("first") == before.outcome("first")
            assert moves_of([after]) == moves_of([before])
    one = tally(capped, "first")
    assert one.deals == 60
    assert one.shares[0] <= tally(whole, "first").shares[0] <= one.shares[1]
    assert tally(whole, "first").shares[0] == tally(whole, "first").shares[1]


def test_each_convention_is_capped_by_itself(tmp_path: Path) -> None:
    (deals,) = done(replace(SMALL, deals=60, cap=400), tmp_path).values()
    kinds = {(deal.outcome("first"), deal.outcome("fixed"), deal.capped) for deal in deals}
    assert ("solvable", "capped", True) in kinds
    assert ("solvable", "solvable", False) in kinds
    assert not [kind for kind in kinds if kind[2] != ("capped" in kind[:2])]


def test_gap_depth_first_claims_no_fewest_moves_before_all_is_seen(tmp_path: Path) -> None:
    (whole,) = done(Plan("gap", (4,), 40, strategy="dfs"), tmp_path).values()
    (capped,) = done(Plan("gap", (4,), 40, strategy="dfs", cap=60), tmp_path).values()
    assert any(deal.capped for deal in capped)
    for before, after in zip(whole, capped, strict=True):
        assert after.first is None if after.capped else moves_of([after]) == moves_of([before])


# Stopping and going on


def test_a_stopped_study_goes_on_and_searches_no_deal_twice(tmp_path: Path) -> None:
    plan = replace(SMALL, deals=60)
    directory = begun(plan, tmp_path, StoppingAfter(12), workers=1)
    assert state_of(directory).status == "interrupted"
    (before,) = kept(directory).values()
    assert 0 < len(before) < 60
    assert StudyFigures.of(state_of(directory)).deals_done == len(before)
    assert begun(plan, tmp_path) == directory
    (after,) = kept(directory).values()
    assert [deal.number for deal in after] == list(range(60))
    # The seconds too: these are not searched again.
    assert [deal for deal in after if deal.number in {kept.number for kept in before}] == before
    (other,) = done(plan, tmp_path / "undisturbed", workers=2).values()
    assert without_seconds(other) == without_seconds(after)


def test_more_deals_and_sizes_extend_a_study(tmp_path: Path) -> None:
    directory = begun(SMALL, tmp_path)
    first = kept(directory)[3]
    more = done(replace(SMALL, sizes=(3, 4), deals=25), tmp_path)
    assert more[3][:20] == first
    assert [len(deals) for deals in more.values()] == [25, 25]
    sessions = state_of(directory).session
    assert done(replace(SMALL, sizes=(3, 4)), tmp_path) == {3: first, 4: more[4][:20]}
    assert state_of(directory).session == sessions, "nothing was left to be done"


def test_a_queued_study_is_not_replaced_by_the_next(tmp_path: Path) -> None:
    pinned = asdict(StudyPlan(1, "bfs", CAP, shorten=False))

    def queue(sizes: list[int], deals: int) -> Path:
        limits = {"sizes": sizes, "deals": deals}
        return make_run(tmp_path, PuzzleSpec("superpuzz"), "study", pinned, Resources(), True, limits)

    directory = queue([3], 3)
    assert queue([4], 2) == directory
    drive(directory, Resources(workers=1), Control(), SILENT, awaited=True)
    assert {size: len(deals) for size, deals in kept(directory).items()} == {3: 3, 4: 3}
    queue([4], 4)
    assert kept(directory).keys() == {4}, "nothing was waiting any more"


@pytest.mark.parametrize("change", [{"seed": 2}, {"strategy": "dfs"}, {"cap": 99}, {"puzzle": "gap"}])
def test_what_decides_a_result_has_a_run_of_its_own(change: dict[str, Any], tmp_path: Path) -> None:
    plan = replace(SMALL, deals=1)
    assert begun(replace(plan, **change), tmp_path) != begun(plan, tmp_path)
    assert begun(replace(plan, sizes=(4, 5), deals=2), tmp_path) == begun(plan, tmp_path)


def test_too_little_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Exhausted:
        bytes_of_search = staticmethod(lambda puzzle, cap: 1)

        @staticmethod
        def solve(*asked: Any) -> Any:
            raise MemoryError

    hints = Hint("lower", "cap"), Hint("lower", "workers")
    with refused(OverBudgetError, "ran out of memory", *hints), monkeypatch.context() as patch:
        patch.setitem(SOLVERS, "cards", Exhausted)
        patch.setattr(StudyDeals, "kernels", ())
        done(SMALL, tmp_path)


# Refusals


@pytest.mark.parametrize(
    ("change", "said", "hints"),
    [
        ({"puzzle": "klotski"}, "'klotski' cannot be studied; puzzles that can: gap and superpuzz", []),
        ({"sizes": (2,)}, r"3\.\.13", []),
        ({"sizes": (14,)}, r"3\.\.13", []),
        ({"cap": 0}, "cap 0 is not in", [Hint("give", "cap", "1..2147483646")]),
        ({"cap": 1 << 31}, "cap 2147483648 is not in", [Hint("give", "cap", "1..2147483646")]),
        ({"shorten": True}, "depth-first solutions", [Hint("give", "strategy", "dfs")]),
        ({"strategy": "luck"}, "unknown strategy 'luck'", [Hint("give", "strategy", "bfs|dfs")]),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    change: dict[str, Any], said: str, hints: list[Hint], tmp_path: Path
) -> None:
    with refused(PuzzleError, said, *hints):
        begun(replace(SMALL, **change), tmp_path)
