"""Studies: each figure against searches by the papers' words, stops and goings-on, caps that count neither way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import ConfigurationError, DamagedError, Hint, OverBudgetError, PuzzleError
from hakoiri.guests.deals import kind as kinds
from hakoiri.guests.deals.dealt import Dealt, SearchOrder
from hakoiri.guests.deals.job import StudyFigures, StudyPlan
from hakoiri.guests.deals.table import Deal, Solution, deals_of, dealt, effort, spread, tally
from hakoiri.guests.deals.tasks import SOLVERS
from hakoiri.guests.sizes.job import SizeRow, StudySizes, b_files
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.tables import facts_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress, State, typed
from hakoiri.storage.names import DATA_FILE
from hakoiri.storage.results import ResultRows
from tests.support import card_rules as rules
from tests.support.refusals import refused
from tests.support.runs import SILENT, Notes, StoppingAfter, driven, opened, repaired, verified


@dataclass(frozen=True)
class Plan:
    """A study: what decides its run, and up to where it goes."""

    puzzle: str
    sizes: tuple[int, ...]
    deals: int = kinds.DealsKind.deals
    seed: int = 1
    strategy: SearchOrder = "bfs"
    cap: int = kinds.CAP
    shorten: bool = False


SMALL = Plan("superpuzz", (3,), deals=20)


def begun(plan: Plan, data: Path, control: Control | None = None, **resources: Any) -> Path:
    """The run of a study, driven as far as it goes."""
    pinned = StudyPlan(seed=plan.seed, strategy=plan.strategy, cap=plan.cap, shorten=plan.shorten).plan()
    limits = {"sizes": list(plan.sizes), "deals": plan.deals}
    return driven(data, PuzzleSpec(plan.puzzle), "study", pinned, limits, control, **resources)


def kept(directory: Path) -> dict[int, list[Deal]]:
    with opened(directory) as job:
        return dict(job.by_size())


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


@pytest.mark.ci_slow
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


@pytest.mark.parametrize("number", ["²", "9" * 5_000], ids=["superscript", "long"])
def test_what_is_no_number_of_deals_is_a_row(number: str) -> None:
    puzzle = PuzzleSpec("gap", {"ranks": "4"}).build()
    assert isinstance(puzzle, Dealt)
    text = puzzle.random_deal(1, 0).replace("/", "\n")
    with pytest.raises(ConfigurationError, match="deal 2 has 1 rows, expected 4"):
        list(deals_of(puzzle, f"{number}\n{text}"))


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
    pinned = StudyPlan().plan()

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
        done(SMALL, tmp_path)


# The figures of a study of many deals: shares, spreads and their intervals, and the rows of its CSV


def test_a_spread_has_the_figures_and_an_interval_that_fits() -> None:
    assert spread([]) is None
    assert spread([7]) == replace(spread([7]), least=7, mean=7, low=7, high=7, median=7, deciles=(7,) * 9, most=7)  # type: ignore[type-var]
    values = np.random.default_rng(1).integers(0, 100, size=400).tolist()
    found = spread(values)
    assert found is not None
    assert (found.least, found.most) == (min(values), max(values))
    assert (found.mean, found.median) == (np.mean(values), np.median(values))
    assert found.deciles == tuple(sorted(values)[40 * tenth - 1] for tenth in range(1, 10))
    assert found.error == pytest.approx(np.std(values, ddof=1) / 20)
    # By the normal distribution: the mean and 1.96 of its standard errors.
    error = 1.96 * np.std(values) / 20
    assert found.low == pytest.approx(found.mean - error, abs=error / 10)
    assert found.high == pytest.approx(found.mean + error, abs=error / 10)
    assert spread(values) == found


def test_tallies_of_deals_by_hand() -> None:
    solved = Deal(4, 0, Solution(5, 90), Solution(9, 200), 200, 9, False, False, 0.25)
    half = Deal(4, 1, Solution(8, 70), None, 300, 12, False, True, 0.5)
    never = Deal(4, 2, None, None, 2, 1, True, False, 0.125)
    deals = [solved, half, never]
    free, fixed = tally(deals, "first"), tally(deals, "fixed")
    assert (free.solvable, free.unsolvable, free.capped, fixed.solvable, fixed.unsolvable, fixed.capped) == (
        2,
        1,
        0,
        1,
        1,
        1,
    )
    assert free.moves is not None
    assert (free.moves.least, free.moves.mean, free.moves.most) == (5, 6.5, 8)
    assert fixed.shares == (1 / 3, 2 / 3)
    looked = effort(deals)
    assert looked is not None
    assert (looked["capped"], looked["seconds"]) == (1, 0.875)
    assert (looked["positions"]["median"], looked["positions"]["most"]) == (200, 300)
    assert effort([]) is None


def test_rows_of_studies_that_had_a_place_for_shortened_moves_are_read() -> None:
    first = {"moves": 9, "positions": 30, "shortened": None, "shortest": None}
    rest = {"positions": 40, "depth": 12, "exhausted": True, "capped": False, "seconds": 0.1}
    found = typed({"size": 4, "number": 0, "first": first, "fixed": None, **rest}, Deal)
    assert (found.first, found.outcome("fixed")) == (Solution(9, 30), "unsolvable")


# Studies of sizes: published tables, resumed within a member, extended, b-files, damage and refusals


#: Depth, diameter, radius, unordered diametral pairs; depths of the others: A058986, A078941, and as known of TopSpin.
TILES = {"2x2": (6, 6, 6, 6), "2x3": (21, 21, 21, 180), "2x4": (36, 36, 35, 5_040)}
DEPTHS = {
    "pancakes": {2: 1, 3: 3, 4: 4, 5: 5, 6: 7},
    "burnt-pancakes": {1: 1, 2: 4, 3: 6, 4: 8},
    "topspin": {6: 5, 7: 6, 8: 9},
    # Farthest from a tower, A382111: 4 pegs.
    "hanoi": {1: 1, 2: 3, 3: 5, 4: 9},
}


def studied(
    data: Path, name: str, sizes: list[int], options: Mapping[str, str] = {}, control: Control | None = None,
    observer: Any = None,
) -> Path:  # fmt: skip
    asked = StudySizes.parse_request(PuzzleSpec(name, options), sizes=sizes)
    observer = observer or SilentObserver()
    return driven(data, asked.spec, "sizes", asked.plan, asked.limits, control, observer)


def rows_of(directory: Path) -> list[SizeRow]:
    with opened(directory) as job:
        return [row for _, row in sorted(job.stored().items())]


@pytest.mark.ci_slow
def test_tiles_have_the_published_diameters(tmp_path: Path) -> None:
    directory = studied(tmp_path, "tiles", [4, 5, 6, 8])
    rows = rows_of(directory)
    names = [f"{row.options['rows']}x{row.options['columns']}" for row in rows]
    assert {
        name: (row.depth, row.diameter, row.radius, row.pairs) for name, row in zip(names, rows, strict=True)
    } == TILES
    assert not (directory / "members").exists()
    files = b_files(rows)
    assert files["b-2-rows-depth.txt"] == "2 6\n3 21\n4 36\n"
    assert files["b-2-rows-layers.txt"].startswith("1 1\n2 2\n3 2\n4 2\n5 2\n6 2\n7 1\n8 1\n9 2\n10 3\n")
    assert verified(directory).ok
    with opened(directory) as job:
        assert [row["diameter"] for row in job.rows()] == [6, 21, 36]
        assert job.summary(None)["rows"][0]["layers"] == [1, 2, 2, 2, 2, 2, 1]
        assert facts_of(job, {"members": 3, "configurations": 20_532}) == {"members": 3, "configurations": 20_532}
        assert len(job.tables()[0].rows) == 3


@pytest.mark.parametrize("name", DEPTHS)
def test_depths_are_as_published(name: str, tmp_path: Path) -> None:
    rows = rows_of(studied(tmp_path, name, list(DEPTHS[name])))
    assert {row.size: row.depth for row in rows} == DEPTHS[name]
    for row in rows:
        assert row.diameter is not None
        assert row.depth <= row.diameter <= 2 * row.depth
        assert sum(row.layers) == row.configurations
        if name != "hanoi":
            assert (row.diameter, row.pairs) == (row.depth, row.configurations * row.layers[-1] // 2)
    assert b_files(rows)["b-depth.txt"] == "".join(f"{size} {depth}\n" for size, depth in DEPTHS[name].items())


def test_another_metric_is_another_study(tmp_path: Path) -> None:
    one, multi = studied(tmp_path, "tiles", [6]), studied(tmp_path, "tiles", [6], {"metric": "multi"})
    assert one != multi
    assert [row.depth for row in rows_of(multi)] == [20]


class StoppingIn(SilentObserver):
    """Stops in the midst of the second member."""

    def __init__(self, control: Control) -> None:
        self._control, self._members = control, 0

    def progress(self, progress: Progress) -> None:
        self._members += progress.unit == "members"
        if self._members and progress.unit == "configurations" and progress.done > 100:
            self._control.interrupt("enough")


@pytest.mark.ci_slow
def test_a_stopped_study_goes_on_and_more_sizes_extend_it(tmp_path: Path) -> None:
    control = Control()
    stopped = studied(tmp_path, "pancakes", [4, 6, 7], control=control, observer=StoppingIn(control))
    assert state_of(stopped).status == "interrupted"
    assert len(rows_of(stopped)) == 1
    assert (stopped / "members").exists()
    again = studied(tmp_path, "pancakes", [4, 6, 7])
    assert again == stopped
    more = studied(tmp_path, "pancakes", [5])
    assert more == stopped
    undisturbed = studied(tmp_path / "other", "pancakes", [4, 5, 6, 7])
    assert rows_of(more) == rows_of(undisturbed)
    with opened(more) as job:
        assert job.is_done()
    with opened(studied(tmp_path, "pancakes", [4, 6])) as job:
        figures = job.summary(None)
        assert (figures["members"], figures["configurations"], len(figures["rows"])) == (2, 24 + 720, 2)


def test_damage_to_what_is_measured_is_told_of_the_study(tmp_path: Path) -> None:
    """Nobody else knows the member's own run, and nothing of it is needed."""
    control = Control()
    stopped = studied(tmp_path, "pancakes", [4, 6], control=control, observer=StoppingIn(control))
    (data_file,) = stopped.glob(f"members/*/member/{DATA_FILE}")
    data_file.write_bytes(b"damage" * 1_000)
    with refused(DamagedError, "member", Hint("repair", stopped.name)):
        studied(tmp_path, "pancakes", [4, 6])
    repaired(stopped)
    assert [row.depth for row in rows_of(stopped)] == [4, 7]


def test_every_figure_of_a_size_is_verified(tmp_path: Path) -> None:
    directory = studied(tmp_path, "pancakes", [3, 4])
    row, _ = rows_of(directory)
    with RunStore(directory) as store:
        number = ResultRows(store, "size").numbers()[0]
    for changes in ({"configurations": 7}, {"place": 9}, {"size": 4}, {"series": "x"}, {"options": {"n": "4"}}):
        with RunStore(directory, writable=True) as store:
            ResultRows(store, "size").stage(number, replace(row, **changes))
            store.commit(store.state)
        assert not verified(directory).ok, changes
    with RunStore(directory, writable=True) as store:
        ResultRows(store, "size").stage(number, row)
        store.commit(store.state)
    assert verified(directory).ok


@pytest.mark.ci_slow
def test_the_diameter_stays_open_where_the_memory_is_too_little_for_the_graph(tmp_path: Path) -> None:
    notes = Notes()
    asked = StudySizes.parse_request(PuzzleSpec("hanoi", {"pegs": "4"}), sizes=[6, 10])
    directory = driven(tmp_path, asked.spec, "sizes", asked.plan, asked.limits, observer=notes, memory=LEAST_MEMORY)
    known, large = rows_of(directory)
    assert (known.diameter, known.radius, known.pairs) == (17, 13, 18)
    assert (large.depth, large.diameter, large.radius, large.pairs) == (49, None, None, None)
    assert notes.texts[-1].endswith("above the limit of 104,857,600; the diameter remains unknown")


@pytest.mark.ci_slow
def test_published_figures_of_small_superpuzz(tmp_path: Path) -> None:
    """The paper has 6, 15 and 30 moves, over other random deals; over 1,000 of ours the means are 11.3 and 14.95."""
    (deals,) = done(Plan("superpuzz", (4,), 150), tmp_path).values()
    free, fixed = tally(deals, "first").moves, tally(deals, "fixed").moves
    assert free is not None
    assert fixed is not None
    assert 10.8 < free.mean < 11.8
    assert 14 < fixed.mean < 16
    assert fixed.least >= 6
    assert fixed.most <= 30
    assert free.low < 11.3 < free.high


def test_verification_searches_the_deals_again(tmp_path: Path) -> None:
    directory = begun(replace(SMALL, sizes=(3, 4)), tmp_path)
    assert verified(directory).checked["deals"] == 40
    assert verified(directory, full=False).checked["deals"] == 32
