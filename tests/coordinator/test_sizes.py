"""Studies of sizes: published tables, resumed within a member, extended, b-files, damage and refusals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hakoiri.coordinator.session.resources import LEAST_MEMORY
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.coordinator.studies.sizes import SizeRow, StudySizes, b_files, read_rows
from hakoiri.errors import DamagedError, Hint, PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import DATA_FILE
from tests.support.refusals import refused
from tests.support.runs import Notes, driven, opened, repaired, verified

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
    with RunStore(directory) as store:
        return [row for _, row in sorted(read_rows(store).items())]


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
        assert job.facts({"members": 3, "configurations": 20_532}) == {"members": 3, "configurations": 20_532}
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


def test_a_stopped_study_goes_on_and_more_sizes_extend_it(tmp_path: Path) -> None:
    control = Control()
    stopped = studied(tmp_path, "pancakes", [4, 6, 7], control=control, observer=StoppingIn(control))
    with RunStore(stopped) as store:
        assert store.state.status == "interrupted"
        assert len(read_rows(store)) == 1
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


def test_what_has_no_sizes_is_refused() -> None:
    with pytest.raises(
        PuzzleError, match="the sizes of klotski cannot be studied; puzzles that can: burnt-pancakes and"
    ):
        StudySizes.parse_request(PuzzleSpec("klotski"), sizes=[3])
    with pytest.raises(PuzzleError, match="tiles has none of the given sizes"):
        StudySizes.parse_request(PuzzleSpec("tiles"), sizes=[5, 7])
    with refused(PuzzleError, "already set n", Hint("leave out", "option")):
        StudySizes.parse_request(PuzzleSpec("pancakes", {"n": "5"}), sizes=[3])


def test_the_diameter_stays_open_where_the_memory_is_too_little_for_the_graph(tmp_path: Path) -> None:
    notes = Notes()
    asked = StudySizes.parse_request(PuzzleSpec("hanoi", {"pegs": "4"}), sizes=[6, 10])
    directory = driven(tmp_path, asked.spec, "sizes", asked.plan, asked.limits, observer=notes, memory=LEAST_MEMORY)
    known, large = rows_of(directory)
    assert (known.diameter, known.radius, known.pairs) == (17, 13, 18)
    assert (large.depth, large.diameter, large.radius, large.pairs) == (49, None, None, None)
    assert notes.texts[-1].endswith("above the limit of 104,857,600; the diameter remains unknown")
