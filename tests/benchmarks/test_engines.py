"""The tables of the comparison with engines, from rows as they are measured."""

import pytest

from benchmarks.engines import _tables

_ROW = {"seconds": 2.0, "starting": 1.0, "written": 3_000_000, "megabytes": 90.0, "sizes": [1, 2], "ended": 0}


def _row(program: str, cpu: float, sent: int, **more: object) -> dict[str, object]:
    return _ROW | {"program": program, "cpu": cpu, "sent": sent} | more


_BOTH = [_row("hosts", 1.5, 2_000_000), _row("other", 6.0, 80_000_000), _row("hosts", 1.0, 2_000_000)]


def test_programs_are_compared_with_the_first_in_their_best_repetition() -> None:
    lines = str(next(_tables(_BOTH, ["hosts", "other"]))).splitlines()
    assert lines[2] == "| hosts | 1.0 | 1.0 | 1.0 | 2.0 | 2.0 | 1.0 | 3.0 | 90 |"
    assert lines[3] == "| other | 6.0 | 6.0 | 1.0 | 2.0 | 80.0 | 40.0 | 3.0 | 90 |"


def test_a_kill_is_right_wrong_or_started_again() -> None:
    again = _row("other", 2.0, 0, kept=1)
    killed = [
        _row("hosts", 1.2, 0, killed=7, until=0.5, again={}),
        _row("other", 0.0, 0, killed=8, until=3.0, sizes=None, ended=-9, again=again),
    ]
    lines = str([*_tables([*_BOTH, *killed], ["hosts", "other"])][1]).splitlines()
    assert lines[-2:] == [
        "| hosts | right | 1.2 | +0.2 | 2.0 |",
        "| other | right, started again after layer 1 of 1 | 5.0 | -1.0 | 2.0 |",
    ]
    (_, lost) = _tables([*_BOTH, killed[0] | {"sizes": [1, 3], "ended": 1}], ["hosts", "other"])
    assert str(lost).splitlines()[-1] == "| hosts | none: ended with 1 |  |  |  |"
    with pytest.raises(SystemExit, match="before the kill"):
        [*_tables([*_BOTH, _row("hosts", 1.0, 0, again={})], ["hosts", "other"])]
