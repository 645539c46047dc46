"""The kinds of run that keep rows: the same on any threads and after a stop; damage and lies are found."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import ROWS
from hakoiri.storage.results import ResultRows
from tests.coordinator import test_boards, test_hunt, test_starts, test_study
from tests.support.runs import StoppingAfter, repaired, verified

#: What the clock says.
TIMES = {"seconds", "when"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """The making of a run, stopped after `stop` checks; a row of a table; a lie in it, and what is said then."""

    make: Callable[..., Path]
    stop: int
    table: str
    place: int
    lie: Callable[[Row], Row] | None = None
    said: str = ""


def deals(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_study.begun(replace(test_study.SMALL, deals=60), data, control, workers=workers)


def sizes(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_study.studied(data, "burnt-pancakes", [2, 3, 4], control=control)


def boards(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_boards.studied(data, control=control, workers=workers)


def starts(data: Path, control: Any = None, workers: int = 1) -> Path:
    spec = PuzzleSpec("sliding", {"goal": "A@1,2"})
    return test_starts.study(data, spec, test_starts.BOARDS * 3, control=control, workers=workers)


def generated(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_starts.generated(data, control, workers, boards=12)


def hunted(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_hunt.chased(test_hunt.small_hunt(), data, control, workers=workers, legs=24).directory


def farther(row: Row) -> Row:
    row["components"]["diameter"][0] += 1
    return row


def more_solutions(row: Row) -> Row:
    row["boards"][0]["solutions"] += 1
    return row


KINDS = {
    "deals": Kind(deals, 12, "columns=3", 7, lambda row: row | {"positions": 1}, "deal 7 of columns=3 is Deal("),
    "sizes": Kind(sizes, 3, "size", 1, lambda row: row | {"diameter": 5}, "in the run"),
    "boards": Kind(boards, 6, "mix", 3, farther, "in the run"),
    "starts": Kind(starts, 5, "start", 0, lambda row: row | {"moves": 2}, "but StartFigures"),
    "generate": Kind(generated, 1, "batch", 0, more_solutions, "solutions of"),
    "hunt": Kind(hunted, 9, "leg", 7),
}
#: Rows are counted.
GONE = [(name, None) for name in ("deals", "starts")]
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def found_by(kind: Kind, directory: Path) -> Any:
    """All rows, without what the clock says; of generated boards those that are wanted, whoever found more."""
    if kind.make is generated:
        return test_starts.boards_of(directory)
    with RunStore(directory) as store:
        rows = ResultRows(store, kind.table)
        return {n: {name: value for name, value in rows.read(n).items() if name not in TIMES} for n in rows.numbers()}


def change(kind: Kind, directory: Path, changed: Callable[[Row], Row] | bytes | None) -> str:
    """Change a row, put bytes in its place, or take it away; return its name."""
    with RunStore(directory, writable=True) as store:
        rows = ResultRows(store, kind.table)
        number = rows.numbers()[kind.place]
        name = f"{kind.table}/".encode() + number.to_bytes(4, "big")
        if changed is None:
            store.erase(ROWS, name)
        elif isinstance(changed, bytes):
            store.stage(ROWS, name, changed)
        else:
            rows.stage(number, changed(rows.read(number)))
        store.commit(store.state)
    return f"row {number} of {kind.table}"


@every_kind
def test_threads_and_a_stop_change_nothing(kind: Kind, tmp_path: Path) -> None:
    expected = found_by(kind, kind.make(tmp_path / "one"))
    assert found_by(kind, kind.make(tmp_path / "two", workers=2)) == expected
    stopped = kind.make(tmp_path / "stopped", StoppingAfter(kind.stop))
    with RunStore(stopped) as store:
        assert store.state.status == "interrupted"
    assert len(found_by(kind, stopped)) < len(expected)
    assert kind.make(tmp_path / "stopped", workers=2) == stopped
    assert found_by(kind, stopped) == expected


@pytest.mark.parametrize(("name", "harm"), [*((name, b"nothing of the kind") for name in KINDS), *GONE])
def test_a_row_that_is_lost_is_said_and_made_again(name: str, harm: bytes | None, tmp_path: Path) -> None:
    kind = KINDS[name]
    directory = kind.make(tmp_path)
    expected = found_by(kind, directory)
    lost, (fault, *_) = change(kind, directory, harm), verified(directory).faults
    assert harm is None or f"{lost} is damaged" in fault
    repaired(directory)
    assert found_by(kind, directory) == expected
    assert verified(directory).ok


@every_kind
def test_a_row_of_another_form_is_damage(kind: Kind, tmp_path: Path) -> None:
    directory = kind.make(tmp_path)
    lost = change(kind, directory, lambda _: {"odd": 1})
    assert f"{lost} is malformed" in verified(directory).faults[0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.lie], ids=[n for n in KINDS if KINDS[n].lie])
def test_a_row_that_lies_is_found(kind: Kind, tmp_path: Path) -> None:
    directory = kind.make(tmp_path)
    assert verified(directory).ok
    assert kind.lie
    change(kind, directory, kind.lie)
    assert any(kind.said in fault for fault in verified(directory).faults)
