"""The kinds of run that keep rows: the same on any threads and after a stop; damage and lies are found."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hakoiri.coordinator.runs import kinds
from hakoiri.guests.nakuron.board import random_board
from hakoiri.guests.nakuron.optimise import Optimise
from hakoiri.guests.study import Study
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import ROWS
from hakoiri.storage.results import ResultRows
from tests.guests.boards import test_boards
from tests.guests.cosets import test_cosets
from tests.guests.deals import test_hunt, test_study
from tests.guests.starts import test_starts
from tests.support.runs import StoppingAfter, driven, repaired, verified
from tests.support.seeds import usual

#: What the clock says.
TIMES = {"seconds", "when"}
Row = dict[str, Any]


class Kind(NamedTuple):
    """The making of a run, stopped after `stop` checks; its table of rows; lies in rows, and what is said then."""

    make: Callable[..., Path]
    stop: int
    table: str
    lies: tuple[tuple[int, Callable[[Row], object], str], ...] = ()


def deals(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_study.begun(replace(test_study.SMALL, deals=60), data, control, workers=workers)


def sizes(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_study.studied(data, "burnt-pancakes", [2, 3, 4], control=control)


def boards(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_boards.studied(data, control=control, workers=workers)


def starts(data: Path, control: Any = None, workers: int = 1) -> Path:
    spec = PuzzleSpec("sliding", {"goal": "A@1,2"})
    return test_starts.study(data, spec, test_starts.BOARDS * 3, control=control, workers=workers)


def cosets(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_cosets.study(data, control=control, workers=workers, size=11_520, cosets=20)


def generated(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_starts.generated(data, control, workers, boards=12)


def hunted(data: Path, control: Any = None, workers: int = 1) -> Path:
    return test_hunt.chased(test_hunt.small_hunt(), data, control, workers=workers, legs=24).directory


def optimised(data: Path, control: Any = None, workers: int = 1) -> Path:
    asked = Optimise.parse_request(PuzzleSpec("nakuron", {}, random_board(8, 1, 1).text()), rounds=3)
    return driven(data, asked.spec, "optimise", asked.plan, asked.limits, control, workers=workers)


def first(name: str, value: Callable[[Any], Any]) -> Callable[[Row], object]:
    """A change of the first of a list of components."""
    return lambda row: row["components"][name].__setitem__(0, value(row["components"][name]))


KINDS = {
    "deals": Kind(deals, 12, "columns=3", ((7, lambda row: row.update(positions=1), "deal 7 of columns=3 is Deal("),)),
    "sizes": Kind(sizes, 3, "size", ((1, lambda row: row.update(diameter=5), "in the run"),)),
    "boards": Kind(
        boards, 6, "mix",
        (
            (3, first("diameter", lambda known: known[0] + 1), "in the run"),
            (3, first("pair", lambda known: [known[0][1], known[0][1]]), "component 0 are not its diameter apart"),
            (0, lambda row: row["starts"][0].__setitem__(0, row["starts"][0][0] + 1), "moves from the goal, but"),
        ),
    ),
    "starts": Kind(
        starts, 5, "start",
        (
            (0, lambda row: row.update(moves=2), "but StartFigures"),
            (0, lambda row: row.update(hardest="A"), "but StartFigures"),
            (0, lambda row: row.update(layers=[1, 1]), "the sums of its rows"),
        ),
    ),
    "cosets": Kind(
        cosets, 15, "coset",
        (
            (0, lambda row: row["layers"].append(0), "but CosetFigures"),
            (1, lambda row: row.update(most=12), "but CosetFigures"),
            (2, lambda row: row["layers"].append(7), "the sums of its rows"),
        ),
    ),
    "generate": Kind(
        generated, 1, "batch", ((0, lambda row: row["boards"][0].update(solutions=9_999), "solutions of"),)
    ),
    "hunt": Kind(hunted, 9, "leg", ((3, lambda row: row.update(tried=row["tried"] + 1), "the sums of its rows"),)),
    "optimise": Kind(optimised, 9, "round"),
}  # fmt: skip
#: A play that is lost is forgotten.
WITH_PLAYS = KINDS | {
    "best": Kind(
        optimised, 30, "best",
        (
            (-1, lambda row: row.update(score=1), "by the reference rules"),
            (-1, lambda row: row.update(sequence="0123"), "by the reference rules"),
        ),
    ),
}  # fmt: skip
#: Rows are counted.
GONE = [(name, None) for name in ("deals", "sizes", "boards", "starts", "cosets", "hunt")]
LIES = [(name, number) for name, kind in WITH_PLAYS.items() for number in range(len(kind.lies))]
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def test_every_kind_that_keeps_rows_is_here() -> None:
    found = {name for name in kinds.KINDS if issubclass(kinds.kind_of(name), Study)}
    assert found == {{"deals": "study"}.get(name, name) for name in KINDS}


def found_by(kind: Kind, directory: Path) -> Any:
    """All rows, without what the clock says; of generated boards those that are wanted, whoever found more."""
    if kind.make is generated:
        return test_starts.boards_of(directory)
    with RunStore(directory) as store:
        rows = ResultRows(store, kind.table)
        return {n: {name: value for name, value in rows.read(n).items() if name not in TIMES} for n in rows.numbers()}


def change(kind: Kind, directory: Path, changed: Callable[[Row], object] | bytes | None, place: int = 0) -> str:
    """Change a row, put bytes in its place, or take it away; return its name."""
    with RunStore(directory, writable=True) as store:
        rows = ResultRows(store, kind.table)
        number = rows.numbers()[place]
        name = f"{kind.table}/".encode() + number.to_bytes(4, "big")
        if changed is None:
            store.erase(ROWS, name)
        elif isinstance(changed, bytes):
            store.stage(ROWS, name, changed)
        else:
            row = rows.read(number)
            changed(row)
            rows.stage(number, row)
        store.commit(store.state)
    return f"row {number} of {kind.table}"


@pytest.mark.ci_slow
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


@usual(1, ("name", "harm"), [*((name, b"nothing of the kind") for name in KINDS), *GONE])
def test_a_row_that_is_lost_is_said_and_made_again(name: str, harm: bytes | None, tmp_path: Path) -> None:
    kind = KINDS[name]
    directory = kind.make(tmp_path)
    expected = found_by(kind, directory)
    lost, (fault, *_) = change(kind, directory, harm), verified(directory).faults
    assert harm is None or f"{lost} is damaged" in fault
    repaired(directory)
    assert found_by(kind, directory) == expected
    assert verified(directory).ok


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", WITH_PLAYS.values(), ids=WITH_PLAYS)
def test_a_row_of_another_form_is_damage(kind: Kind, tmp_path: Path) -> None:
    directory = kind.make(tmp_path)
    lost = change(kind, directory, Row.clear)
    assert f"{lost} is malformed" in verified(directory).faults[0]


@pytest.mark.ci_slow
@pytest.mark.parametrize(("name", "number"), LIES)
def test_a_row_that_lies_is_found(name: str, number: int, tmp_path: Path) -> None:
    kind = WITH_PLAYS[name]
    place, lie, said = kind.lies[number]
    directory = kind.make(tmp_path)
    assert verified(directory).ok
    change(kind, directory, lie, place)
    assert any(said in fault for fault in verified(directory).faults)
