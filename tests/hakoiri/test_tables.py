"""Tables on narrow terminals: numbers are never cut; digests shrink first, then words wrap, then lines run on."""

import io
import re
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hakoiri.cli.runs import listing
from hakoiri.coordinator.runs.catalogue import RunStatus
from hakoiri.questions.layers import LayerSizes
from hakoiri.render import tables
from hakoiri.render.tables import first_fitting, rows_table, stdout
from hakoiri.storage.ledger.manifest import Progress, State

DIGEST = "91d82e6ddfc49ff5339017ff292f67959b418d76a2e80af3e7b5a93e73451e96"


class Terminal(io.StringIO):
    """A terminal that shows no colours."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], None]], list[str]]:
    """The lines that something prints on a terminal of so many columns."""

    def lines(columns: int, act: Callable[[], None]) -> list[str]:
        terminal = Terminal()
        monkeypatch.setattr(tables, "results", lambda: terminal)
        for name, value in {"COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}.items():
            monkeypatch.setenv(name, value)
        act()
        return [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", terminal.getvalue()).splitlines()]

    return lines


Printed = Callable[[int, Callable[[], None]], list[str]]


@pytest.mark.parametrize("columns", [200, 80, 50, 20, 5])
def test_numbers_are_never_cut(columns: int, printed: Printed) -> None:
    rows = [{"component": 123_456, "size": 25_955_123_456, "diameter": 190, "status": "complete"} for _ in range(3)]
    title, *lines = printed(columns, lambda: stdout().print(rows_table(rows)))
    assert title.split() == ["component", "size", "diameter", "status"]
    assert [line.split() for line in lines] == [["123,456", "25,955,123,456", "190", "complete"]] * 3


@pytest.mark.parametrize("columns", [120, 80, 50])
def test_a_run_fits_and_only_its_details_take_more_lines(
    columns: int, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    created = "2026-11-21 10:00:07+09:00"
    row = {
        "run": "05b6f8-klotski", "kind": "search", "details": "metric=unit from=ABBC/ABBC/DEEF/DGHF/I..J",
        "title": "Mine", "keepers": [], "status": "interrupted", "depth": 167, "created": created,
    }  # fmt: skip
    monkeypatch.setattr(listing, "status_row", lambda found: dict(row))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    found = [RunStatus(str(row["run"]), None, State(progress=Progress(25_955)), None, False)]
    tables = (listing._listed(found, left_out) for left_out in listing.LEFT_OUT)
    title, line, *rest = printed(columns, lambda: stdout().print(first_fitting(tables)))
    monkeypatch.undo()
    time.tzset()
    assert max(map(len, [title, line, *rest])) <= columns
    assert ("created (+00:00)" in title and "2026-11-21 01:00" in line) == (columns >= 120)
    assert ("details" in title) == (columns >= 80)
    if "details" in title:
        place = slice(title.index("details"), title.index("status"))
        told = "".join(each[place] for each in (line, *rest))
        assert told.replace(" ", "") == f"{row['title']}, {row['details']}".replace(" ", "")
        rest = [each[: place.start] + each[place.stop :] for each in rest]
    assert line.split()[0] == row["run"] and {"interrupted", "25,955", "167"} <= {*line.split()}
    assert "".join(rest).split() in ([], ["configurations"])


@pytest.mark.parametrize(
    ("columns", "wide", "digits"), [(120, False, 32), (80, False, 32), (50, False, 12), (20, False, 12), (50, True, 32)]
)
def test_layers_keep_their_figures(columns: int, wide: bool, digits: int, printed: Printed) -> None:
    rows = [
        {"depth": depth, "size": 10**depth, "goals": 0, "digest": DIGEST[:32], "expanded_by": [], "represented": None}
        for depth in range(8)
    ]
    rows[7]["goals"] = 6_795
    _, *lines = printed(
        columns, lambda: LayerSizes(wide=wide).view(cast(Any, SimpleNamespace(summed_profile=list)), rows)
    )
    for row, line in zip(rows, lines, strict=True):
        depth, size, digest, *bar = line.replace(" 6,795 ", " ").split()
        assert (depth, size) == (str(row["depth"]), f"{row['size']:,}")
        assert digest == (DIGEST[:32] if digits == 32 else f"{DIGEST[:12]}…")
        assert all(set(part) == {"█"} for part in bar)
        # Where there is room for it, every layer has a bar, and no line is longer than the terminal.
        assert wide or columns < 50 or (len(bar) == 1 and len(line) <= columns)
