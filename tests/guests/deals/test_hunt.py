"""The hunt and its certificates: quick counts against the reference rules, one hunt however it is cut, damage seen."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.runs.certificate import (
    Certificate,
    CertificateError,
    certify,
    read_certificate,
    verify_certificate,
    verify_file,
    write_certificate,
)
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, OverBudgetError, PuzzleError, TaskError
from hakoiri.guests.deals import hunting
from hakoiri.guests.deals import searching as requests
from hakoiri.guests.deals.cards import random_deal
from hakoiri.guests.deals.dealt import Dealt
from hakoiri.guests.deals.hunt import (
    FIRST_CYCLE,
    DealPool,
    HuntDeals,
    HuntFigures,
    HuntPlan,
    LegEnd,
    Record,
    moment_of,
    records_among,
    stages_of,
    temperature,
)
from hakoiri.guests.deals.hunting import (
    Field,
    _undo_moves,
    change,
    count_positions,
    deal_of,
    early_layers,
    field_of,
    figures_of,
    walk,
)
from hakoiri.guests.deals.kernels import BLANK
from hakoiri.guests.deals.searching import OBJECTIVES, Leg, Objective, WalkResult, score_of
from hakoiri.guests.deals.solitaire import Gap
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.results import DealFigures, ResultRows
from hakoiri.worker.transport.payload import packed, unpacked
from tests.support import card_rules as rules
from tests.support.refusals import refused
from tests.support.runs import driven, opened, verified

PLENTY = 1_000_000
CLIMBED = "23 36 42 12 15 26 31/44 41 22 35 25 21 17/34 45 32 13 27 16 47/43 24 33 14 11 46 37"
objectives = pytest.mark.parametrize("objective", OBJECTIVES)


def gap(ranks: int) -> Gap:
    return Gap({"ranks": str(ranks)})


def plain_figures(deal: str) -> DealFigures:
    """By the words of the problem, on boards of words."""
    found = rules.distances(rules.gap_start(deal), gap=True)
    moves = [distance for board, distance in found.items() if rules.is_gap_goal(board)]
    return DealFigures(len(found), min(moves, default=None), max(found.values()))


@dataclass(frozen=True)
class Hunt:
    """The values that decide a hunt's run."""

    objective: Objective = "positions"
    ranks: str = "4"
    seed: int = 1
    cap: int = 10_000_000
    work: int = 240_000

    @property
    def plan(self) -> HuntPlan:
        return HuntPlan(objective=self.objective, seed=self.seed, cap=self.cap, work=self.work)

    @property
    def pool(self) -> DealPool:
        return DealPool(self.plan, gap(int(self.ranks)))


@dataclass(frozen=True)
class Found:
    """A hunt as it stands."""

    directory: Path
    state: State
    figures: HuntFigures
    legs: dict[int, LegEnd]
    records: list[Record] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", records_among(self.legs))

    @property
    def rows(self) -> list[LegEnd]:
        """The legs, apart from the clock."""
        return [replace(leg, seconds=0.0, when="") for leg in self.legs.values()]


def small_hunt(objective: Objective = "positions", **changes: Any) -> Hunt:
    return Hunt(objective, **changes)


def chased(hunt: Hunt, data: Path, control: Any = None, observer: Any = None, workers: int = 2, **limits: Any) -> Found:
    spec, limits = PuzzleSpec("gap", {"ranks": hunt.ranks}), {"seconds": None, "legs": None} | limits
    observer = observer or SilentObserver()
    memory = limits.pop("memory", None)
    return look(
        driven(data, spec, "hunt", asdict(hunt.plan), limits, control, observer, workers=workers, memory=memory)
    )


def look(directory: Path) -> Found:
    with opened(directory) as job:
        return Found(directory, job.store.state, HuntFigures.of(job.store.state), job.stored())


def what_is_found(found: Found) -> list[tuple[int, str]]:
    return [(record.score, record.deal) for record in found.records]


# One leg


@pytest.mark.parametrize("ranks", [3, 4, 5])
def test_the_quick_count_is_that_of_the_plain_rules(ranks: int) -> None:
    puzzle = gap(ranks)
    for number in range(12):
        deal = random_deal(4 * ranks, 5, number)
        found = plain_figures(puzzle.text_of_deal(deal))
        table = hunting._tables()[1]
        assert count_positions(field_of(puzzle, deal), ranks, table, PLENTY) == found.positions
        assert count_positions(field_of(puzzle, deal), ranks, table, 3) == min(3, found.positions)
        assert figures_of(puzzle, deal, PLENTY) == found


def test_the_quick_count_of_a_large_deal() -> None:
    puzzle = gap(7)
    deal = puzzle.parse_deal(CLIMBED)
    assert count_positions(field_of(puzzle, deal), 7, hunting._tables()[1], PLENTY) == 423_672


@pytest.mark.ci_slow
def test_the_first_layers_are_those_of_the_plain_rules() -> None:
    puzzle, nothing = gap(5), np.zeros(0, dtype=np.int64)
    deal = puzzle.parse_deal(hard_deal())
    field, table = field_of(puzzle, deal), hunting._tables()[1]
    sizes = np.bincount(list(rules.distances(rules.gap_start(hard_deal()), gap=True).values()))
    whole, ended = early_layers(field, 5, table, nothing, 0.0, PLENTY)
    assert (whole.tolist()[: len(sizes)], ended) == (sizes.cumsum().tolist(), True)
    early, reached = early_layers(field, 5, table, nothing, 0.0, 1_000)
    assert reached
    assert early.tolist() == whole.tolist()[: len(early)]
    assert early[-1] >= 1_000 > early[-2]
    expected = np.where(np.arange(len(early)) == 7, early + 1, 0)
    assert early_layers(field, 5, table, expected, 1.0, 1_000)[1] is False
    assert len(early_layers(field, 5, table, expected, 1.0, 1_000)[0]) == 8
    assert early_layers(field, 5, table, early, 1.0, 1_000)[1] is True


@pytest.mark.parametrize("ranks", [3, 7, 13])
def test_a_deal_and_its_field(ranks: int) -> None:
    puzzle = gap(ranks)
    for number in range(5):
        deal = random_deal(4 * ranks, 1, number)
        back = deal_of(puzzle, field_of(puzzle, deal))
        assert sorted(back) == list(range(4 * ranks))
        assert puzzle.start_of(back) == puzzle.start_of(deal)


def after_moves(puzzle: Gap, number: int, moves: int) -> Field:
    """A position on the way from a random deal, as far as it goes: with cards behind their predecessors."""
    places = puzzle.places_of(random_deal(4 * puzzle.columns, 2, number))
    for _ in range(moves):
        if possible := puzzle.moves(places):
            card, cell = possible[number % len(possible)]
            places[card] = cell
    field = np.full(4 * puzzle.columns, BLANK, dtype=np.int8)
    field[places] = np.arange(len(places))
    return field


def test_moves_taken_back_lead_to_where_they_were_taken_back_from() -> None:
    puzzle, state, changed = gap(4), np.array([7], dtype=np.uint64), 0
    for number in range(20):
        field = after_moves(puzzle, number, 6)
        wanted, before = puzzle.render(key_of(puzzle, field)), field.copy()
        _undo_moves(field, 4, state)
        changed += not np.array_equal(field, before)
        reached = rules.distances(rules.board_of(puzzle.render(key_of(puzzle, field))), gap=True)
        assert rules.board_of(wanted) in reached
        assert not in_order(puzzle, field)
    assert changed > 10


def key_of(puzzle: Gap, field: Field) -> int:
    return puzzle.start_of(deal_of(puzzle, field))


def in_order(puzzle: Gap, field: Field) -> list[int]:
    """The cards that lie right of their predecessors."""
    rows = [row.split() for row in puzzle.render(key_of(puzzle, field)).split("/")]
    following = {f"{suit}{rank}": f"{suit}{rank + 1}" for suit in range(1, 5) for rank in range(1, 9)}
    return [column for row in rows for column, word in enumerate(row[1:], 1) if following.get(row[column - 1]) == word]


def test_a_change_leaves_a_deal() -> None:
    puzzle, state = gap(5), np.array([3], dtype=np.uint64)
    field = field_of(puzzle, random_deal(20, 1, 1))
    seen = set()
    for _ in range(300):
        change(field, 5, state)
        assert sorted(field.tolist()) == [BLANK] * 4 + list(range(16))
        assert not in_order(puzzle, field)
        seen.add(field.tobytes())
    assert len(seen) > 250


def test_two_cells_that_are_exchanged_have_what_the_kind_of_the_change_says(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzle, kinds = gap(5), set()
    monkeypatch.setattr(hunting, "_undo_moves", lambda *_: None)
    for seed in range(200):
        field = field_of(puzzle, random_deal(20, 1, seed))
        before, kind = field.copy(), next(random_words(seed)) % 5
        change.py_func(field, 5, np.array([seed], dtype=np.uint64))  # type: ignore[attr-defined]
        one, other = np.flatnonzero(field != before).tolist()
        assert (field[one], field[other]) == (before[other], before[one])
        a, b = int(before[one]), int(before[other])
        if kind in (1, 2):
            assert (a % 4 == b % 4) if kind == 1 else (a // 4 == b // 4)
        elif kind == 3:
            assert BLANK in (a, b)
        elif kind == 4:
            assert other - one in (1, 5, 15, 19)
        kinds.add(kind)
    assert kinds == set(range(5))


@objectives
def test_a_step_is_weighed_by_moves_or_the_logarithm_of_positions(objective: Objective) -> None:
    worth = requests._worth(100, objective)
    assert worth == (pytest.approx(4.605, abs=1e-3) if objective == "positions" else 100)


@objectives
def test_deals_beyond_the_cap_are_passed_over(objective: Objective) -> None:
    puzzle = gap(5)
    found = walk(puzzle, Leg(hard_deal(), objective, 1, 0.5, 400_000, 2_000, -1))
    assert found.figures is not None
    assert found.figures.positions < 2_000 or objective == "moves"


def hard_deal() -> str:
    """The deal has more than ten thousand positions."""
    return "23 11 32 24 45/21 22 14 44 35/43 12 33 31 25/15 42 13 34 41"


def test_a_wrong_count_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hunting, "figures_of", lambda *_: DealFigures(1, None, 0))
    with pytest.raises(TaskError, match=r"has .*, but the hunt counted .* positions"):
        walk(gap(4), Leg(gap(4).random_deal(1, 0), "positions", 1, 0.1, 20_000, PLENTY, 1))


# The hunt


def test_a_hunt_sets_out_from_a_deal_that_it_is_given() -> None:
    hunt, deal = small_hunt(), gap(4).random_deal(3, 5)
    pool = DealPool.of(hunt.plan, gap(4), deal.replace("/", " / "))
    assert pool.deals(0, []) == [deal] * 4
    assert {pool.moment(generation).size for generation in range(3 * FIRST_CYCLE)} == {4}
    better = LegEnd(5, "somewhere else", 1, gap(4).random_deal(3, 6), 2, 1, 1)
    assert pool.deals(FIRST_CYCLE, [better] * 4, better) == [better.best] * 4
    assert pool.deals(1, [better] * 4) == ["somewhere else"] * 4
    assert pool.leg(0, [deal] * 4, 0).temperature == pytest.approx(0.05)


def test_where_nothing_grows_a_start_says_the_pieces() -> None:
    spec = PuzzleSpec("sliding", {"axis": "rows-and-columns", "metric": "straight"}, "AA./..B/..B")
    assert DealPool.of(small_hunt().plan, cast(Dealt, spec.build()), spec.start).start is None
    near = replace(small_hunt().plan, near=True)
    assert DealPool.of(near, cast(Dealt, spec.build()), spec.start).deals(0, []) == ["AA./..B/..B"] * 4


def test_only_a_hunt_near_its_start_says_so() -> None:
    """Plans of before lack it."""
    spec = PuzzleSpec("sliding", {"goal": "A@1,2"}, "AA./..B/..B")
    plans = [HuntDeals.parse_request(spec, objective="moves", near=near).plan for near in (False, True)]
    assert [plan.get("near") for plan in plans] == [None, True]
    with pytest.raises(PuzzleError, match="near needs a start"):
        HuntDeals.parse_request(PuzzleSpec("gap"), near=True)


@pytest.mark.parametrize(("ranks", "stages"), [(3, {3}), (4, {3, 4}), (5, {3, 4, 5}), (13, {11, 12, 13})])
def test_stages_of_few_ranks(ranks: int, stages: set[int]) -> None:
    moments = [moment_of(generation, stages_of(gap(ranks))) for generation in range(FIRST_CYCLE)]
    assert {moment.size for moment in moments} == stages
    assert moments[-1].size == ranks
    assert all(temperature(objective, moment) > 0 for moment in moments for objective in OBJECTIVES)


def standings(scores: Sequence[int], deals: Sequence[str]) -> list[LegEnd]:
    return [
        LegEnd(leg, deal, score, deal, score, 1, 1, 0.0)
        for leg, (score, deal) in enumerate(zip(scores, deals, strict=True))
    ]


def test_the_best_deal_of_all_comes_back_halfway() -> None:
    hunt = small_hunt(ranks="3").pool
    deals = [gap(3).random_deal(9, number) for number in range(5)]
    before, (best,) = standings((50, 20, 90, 70), deals[:4]), standings((95,), deals[4:])
    second, third = FIRST_CYCLE, 3 * FIRST_CYCLE
    assert hunt.deals(second + 8, before, best) == [deals[0], deals[4], deals[2], deals[3]]
    assert hunt.deals(third + 8, before, best) == [deals[0], deals[2], deals[2], deals[3]]
    assert hunt.deals(third + 16, before, best) == [deals[0], deals[4], deals[2], deals[3]]


@pytest.mark.ci_slow
@objectives
def test_a_hunt_is_the_same_however_it_is_cut(objective: Objective, tmp_path: Path) -> None:
    hunt = small_hunt(objective)
    whole = chased(hunt, tmp_path / "whole", workers=1, legs=24)
    for legs in (3, 14, 24):
        cut = chased(hunt, tmp_path / "cut", legs=legs)
    # Every leg and record, though legs land in another order.
    assert cut.rows == whole.rows
    assert what_is_found(cut) == what_is_found(whole)
    assert cut.figures == whole.figures
    best = whole.records[-1]
    assert best.figures == plain_figures(best.deal)
    assert score_of(best.figures, objective) == best.score == whole.figures.best_score
    assert [record.score for record in whole.records] == sorted({record.score for record in whole.records})
    assert verified(whole.directory).ok


def test_a_hunt_that_cannot_find_anything_ends(tmp_path: Path) -> None:
    found = chased(small_hunt(cap=2), tmp_path, seconds=1e-9)
    assert (found.records, found.figures.best_score, found.figures.legs) == ([], None, 4 * FIRST_CYCLE)


def test_a_hunt_keeps_to_its_memory(tmp_path: Path) -> None:
    hints = Hint("lower", "cap"), Hint("give", "memory", "760MB")
    with refused(OverBudgetError, r"a search of 10,000,000 positions may need 759 MB", *hints):
        chased(small_hunt(), tmp_path, legs=1, memory=100_000_000)
    assert chased(small_hunt(cap=100_000), tmp_path, legs=1, memory=100_000_000).figures.legs == 1


@pytest.mark.parametrize("full", [False, True])
def test_a_record_that_lies_is_found_out(full: bool, tmp_path: Path) -> None:
    found = chased(small_hunt(), tmp_path, legs=24)
    lying = found.records[0 if full else -1]
    with RunStore(found.directory, writable=True) as store:
        row = asdict(found.legs[lying.leg])
        del row["leg"]
        ResultRows(store, "leg").stage(lying.leg, row | {"figures": row["figures"] | {"depth": 99}})
        store.commit(store.state)
    assert f"{lying.deal}: the search in memory found" in verified(found.directory, full).faults[0]


# Certificates


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    """Certify a deal with many layers."""
    deal = "24 12 11 34/21 22 43 14/33 32 23 31/44 42 13 41"
    return certify(
        PuzzleSpec("gap", {"ranks": "4"}, deal), plain_figures(deal), Resources(), Control(), SilentObserver()
    )


def verdict(certificate: Certificate) -> list[str]:
    return verify_certificate(certificate, False, Resources(), Control(), SilentObserver()).faults


@pytest.mark.ci_slow
def test_a_certificate_is_what_the_plain_rules_say(certificate: Certificate, tmp_path: Path) -> None:
    found = rules.distances(rules.gap_start(certificate.deal), gap=True)
    sizes = np.bincount(list(found.values())).tolist()
    assert [layer.size for layer in certificate.layers] == sizes
    assert certificate.figures == plain_figures(certificate.deal)
    write_certificate(certificate, tmp_path / "new" / "a.json")
    assert read_certificate(tmp_path / "new" / "a.json") == certificate
    report = verify_file(tmp_path / "new" / "a.json", True, Resources(), Control(), SilentObserver())
    assert report.ok
    assert report.checked["configurations"] == sum(sizes)


def test_programs_that_disagree_make_no_certificate(certificate: Certificate) -> None:
    wrong = replace(certificate.figures, depth=certificate.figures.depth + 1)
    with pytest.raises(ContradictionError, match="this is a bug of Hakoiri"):
        certify(certificate.spec, wrong, Resources(), Control(), SilentObserver())


def altered_layer(certificate: Certificate, **changes: Any) -> Certificate:
    layers = list(certificate.layers)
    layers[5] = replace(layers[5], **changes)
    return replace(certificate, layers=layers)


@pytest.mark.parametrize(
    ("alter", "word"),
    [
        (partial(altered_layer, size=1), "layer 5: its size is"),
        (partial(altered_layer, digest="0" * 32), "layer 5: its digest is"),
        (lambda one: replace(one, layers=one.layers[:-1]), "the certificate has 17 layers, and the deal has more"),
        (lambda one: replace(one, digest="0" * 64), "the digest of all layers is"),
        (lambda one: replace(one, figures=replace(one.figures, positions=9)), "positions: the run by layers found"),
        (lambda one: replace(one, figures=replace(one.figures, moves=None)), "moves: the search in memory found"),
        (lambda one: replace(one, figures=replace(one.figures, depth=9)), "depth: the run by layers found"),
    ],
)
def test_a_certificate_that_lies_is_found_out(
    alter: Callable[[Certificate], Certificate], word: str, certificate: Certificate
) -> None:
    assert any(fault.startswith(word) for fault in verdict(alter(certificate)))


def test_the_layers_of_another_deal_are_found_out(certificate: Certificate) -> None:
    """Two cards exchanged: nothing else in the file changes."""
    faults = verdict(
        replace(certificate, deal=certificate.deal.replace("34", "..").replace("22", "34").replace("..", "22"))
    )
    assert any(fault.startswith("layer 0: its digest") for fault in faults)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"certificate": 2}, "not of version 1"),
        ({"certificate": True}, "not of version 1"),
        ({"puzzle": 3}, "Expected `str`, got `int` - at `$.puzzle`"),
        ({"puzzle": "klotski"}, "option"),
        ({"puzzle": "superpuzz", "options": {"columns": "4"}}, "not a card"),
        ({"puzzle": "trap.py:Trap"}, "there is no puzzle"),
        ({"options": [1]}, "Expected `object`, got `array` - at `$.options`"),
        ({"options": {"ranks": "5"}}, "a deal of ranks=5"),
        ({"deal": None}, "got `null` - at `$.deal`"),
        ({"deal": "0x0"}, "a deal of ranks=4 has 4 rows"),
        ({"puzzle": "klotski", "options": {}, "deal": "ABBC/ABBC"}, "5 rows"),
        ({"figures": {"positions": 1, "moves": None}}, "missing required field `depth` - at `$.figures`"),
        ({"figures": {"positions": "1", "moves": None, "depth": 1}}, "got `str` - at `$.figures.positions`"),
        ({"figures": {"positions": 1, "moves": -1, "depth": 1}}, "at `$.figures.moves`"),
        ({"layers": {}}, "Expected `array`, got `object` - at `$.layers`"),
        ({"layers": [{"size": 1, "digest": "0" * 31}]}, "at `$.layers[0].digest`"),
        ({"layers": [{"size": 1.0, "digest": "0" * 32}]}, "got `float` - at `$.layers[0].size`"),
        ({"layers": [7]}, "Expected `object`, got `int` - at `$.layers[0]`"),
        ({"digest": "z" * 64}, "at `$.digest`"),
        ({"extra": 1}, "fields that are not known"),
    ],
)
def test_a_file_that_is_no_certificate_is_refused(
    change: dict[str, Any], words: str, certificate: Certificate, tmp_path: Path
) -> None:
    target = tmp_path / "damaged.json"
    write_certificate(certificate, target)
    target.write_text(json.dumps(json.loads(target.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(CertificateError) as refused:
        verify_file(target, False, Resources(), Control(), SilentObserver())
    assert words in str(refused.value)
    assert str(target) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "JSON is malformed"),
        (b"[" * 100_000, "recursion"),
        (b"[]", "Expected `object`, got `array`"),
        (b" " * 4_000_001, "larger than 4,000,000 bytes"),
        (b'{"certificate": 1}', "missing required field `puzzle`"),
    ],
)
def test_bytes_that_are_no_certificate_are_refused(raw: bytes, words: str, tmp_path: Path) -> None:
    target = tmp_path / "odd.json"
    target.write_bytes(raw)
    with pytest.raises(CertificateError, match=words):
        read_certificate(target)
    with pytest.raises(CertificateError, match="cannot be read"):
        read_certificate(tmp_path / "missing.json")


def test_figures_survive_the_way_to_the_rows() -> None:
    found = WalkResult("1", 1, "2", 3, DealFigures(4, None, 5), 6, 7)
    assert unpacked(packed(found), WalkResult) == found
    assert asdict(DealFigures(4, None, 5)) == {"positions": 4, "moves": None, "depth": 5}


@objectives
def test_a_leg_is_the_same_each_time_and_tells_the_truth(objective: Objective) -> None:
    puzzle = gap(4)
    leg = Leg(puzzle.random_deal(1, 0), objective, 2**64 - 5, 0.25, 50_000, PLENTY, -1)
    found = walk(puzzle, leg)
    assert found == walk(puzzle, unpacked(packed(leg), Leg))
    assert found == unpacked(packed(found), WalkResult)
    assert found.figures == plain_figures(found.best)
    assert found.figures is not None
    assert score_of(found.figures, objective) == found.best_score >= found.score
    stands = figures_of(puzzle, puzzle.parse_deal(found.deal), PLENTY)
    assert score_of(stands, objective) == found.score
    assert walk(puzzle, replace(leg, seed=6)) != found
    assert walk(puzzle, replace(leg, above=found.best_score)).figures is None
