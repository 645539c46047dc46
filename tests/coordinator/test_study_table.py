"""The figures of a study of many deals: shares, spreads and their intervals, and the rows of its CSV."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hakoiri.coordinator.studies.table import Deal, Solution, effort, spread, tally, write_csv
from hakoiri.errors import NotWritableError
from hakoiri.storage.ledger.manifest import typed


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


def test_tallies_and_csv_of_deals_by_hand(tmp_path: Path) -> None:
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
    assert (looked.capped, looked.positions.median, looked.positions.most, looked.seconds) == (1, 200, 300, 0.875)
    assert effort([]) is None
    target = tmp_path / "deals.csv"
    write_csv([(deal, f"text {deal.number}") for deal in deals], ("first", "fixed"), target)
    with target.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["deal"] for row in rows] == ["text 0", "text 1", "text 2"]
    assert [(row["outcome_first"], row["moves_first"], row["outcome_fixed"], row["moves_fixed"]) for row in rows] == [
        ("solvable", "5", "solvable", "9"), ("solvable", "8", "capped", ""), ("unsolvable", "", "unsolvable", ""),
    ]  # fmt: skip
    with pytest.raises(NotWritableError, match="cannot write"):
        write_csv([], ("first",), tmp_path / "none" / "deals.csv")


def test_rows_of_studies_that_had_a_place_for_shortened_moves_are_read() -> None:
    first = {"moves": 9, "positions": 30, "shortened": None, "shortest": None}
    rest = {"positions": 40, "depth": 12, "exhausted": True, "capped": False, "seconds": 0.1}
    found = typed({"size": 4, "number": 0, "first": first, "fixed": None, **rest}, Deal)
    assert (found.first, found.outcome("fixed")) == (Solution(9, 30), "unsolvable")
