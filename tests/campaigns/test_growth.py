"""The growth table: made from certificates, as CayleyPy and lightln2 publish the sizes of layers, and run again."""

import csv
import json
import random
import shlex
from contextlib import closing
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from campaigns.growth import (
    CAYLEYPY,
    CERTIFICATES,
    PAGE,
    PUBLISHED,
    SPACES,
    TABLE,
    Space,
    bound,
    by_family,
    certify,
    identity_of,
    page_table,
    row_of,
    spaces,
    spaces_page,
)
from hakoiri import explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import read_certificate, verify_file
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.export.growth import COLUMNS, add_growth, growth_row
from tests.support.commands import ROOT, Hakoiri
from tests.support.seeds import usual

#: Rows that others publish, with the file in the repository named and, for CayleyPy, the row's key.
KNOWN = json.loads(PUBLISHED.read_text(encoding="utf-8"))
#: The most configurations of a space that is run again.
_FEW = 400_000
#: Rows that are made again by a program apart, by lot.
_LOT = 20
_LARGE_TABLES = pytest.mark.filterwarnings("ignore:.*its table may take minutes")


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = rows_of(TABLE)


@pytest.mark.parametrize("published", KNOWN, ids=[row["source"].split("/")[-1] for row in KNOWN])
def test_layers_are_as_others_publish_them(published: dict[str, Any]) -> None:
    (row,) = [row for row in ROWS if (row["puzzle"], row["options"]) == (published["puzzle"], published["options"])]
    layers = published["layers"]
    assert row["layers"].split() == [str(size) for size in layers]
    assert (row["configurations"], row["depth"]) == (str(sum(layers)), str(len(layers) - 1))


def plain_sizes(space: Space) -> list[int]:
    """The sizes of the layers of a row of things, by sets of tuples."""
    met = layer = {tuple(space.things)}
    sizes = []
    while layer:
        sizes.append(len(layer))
        layer = {tuple(map(each.__getitem__, move)) for each in layer for move in space.moves.values()} - met
        met |= layer
    return sizes


def rows_by_lot(most: int, count: int) -> list[Space]:
    """Rows of few configurations of families of moves, each time the same ones."""
    there = {(row["puzzle"], row["options"]): row for row in ROWS}
    small = [each for each in spaces() if each.moves and row_of(each) in there and bound(each) <= most]
    return random.Random(70).sample(small, count)


def layers_of(space: Space) -> list[int]:
    (row,) = [row for row in ROWS if (row["puzzle"], row["options"]) == row_of(space)]
    return [int(size) for size in row["layers"].split()]


@pytest.mark.parametrize("space", rows_by_lot(5_040, 3), ids=lambda space: space.puzzle)
def test_small_rows_are_those_of_a_program_apart(space: Space) -> None:
    assert plain_sizes(space) == layers_of(space)


@pytest.mark.slow
@pytest.mark.parametrize("space", rows_by_lot(_FEW, _LOT), ids=lambda space: space.puzzle)
def test_rows_are_those_of_a_program_apart(space: Space) -> None:
    assert plain_sizes(space) == layers_of(space)


def test_the_page_and_the_files_beside_the_table_are_made_from_it() -> None:
    """CayleyPy's form of the table has its sizes, under the keys that a reader of that form expects."""
    assert "\n".join(page_table(ROWS)) in PAGE.read_text(encoding="utf-8")
    families = by_family(ROWS)
    assert {file.name for file in CAYLEYPY.iterdir()} == {f"{family}_growth.csv" for family in families}
    for family, members in families.items():
        with (CAYLEYPY / f"{family}_growth.csv").open(encoding="utf-8", newline="") as file:
            found = {key: json.loads(sizes) for key, sizes in csv.reader(file)}
        assert found == {key: [int(size) for size in row["layers"].split()] for key, row in members}


def certificates() -> dict[str, Path]:
    """The files of certificates by their identity."""
    files = [file for folder in CERTIFICATES for file in folder.glob("*.json")]
    return {read_certificate(file).identity: file for file in files}


def test_the_page_of_spaces_is_made_from_the_table() -> None:
    assert "\n".join(spaces_page(ROWS, certificates())) + "\n" == SPACES.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["single-boards-Rush-Hour-60-moves", "towers-3-discs-5-pegs", "top_spin-6"])
def test_a_command_of_the_page_of_spaces_makes_its_row(name: str, tmp_path: Path) -> None:
    """Or verifies its certificate."""
    (line,) = [line for line in SPACES.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {name} |")]
    count, digest = line.split(" | ")[2], line.split("[`")[1][:8]
    _, *words = shlex.split(line.split(" | ")[-1].strip("| `"))
    if words[0] == "verify":
        answer = Hakoiri(tmp_path).ask("verify", str(ROOT / words[1]))
        assert answer["ok"] and f"{answer['checked']['configurations in all, as many as the puzzle has']:,}" == count
        return
    answer = Hakoiri(tmp_path).ask(*words)
    assert f"{answer['configurations']:,}" == count and answer["digest"].startswith(digest)


def test_pages_to_play_are_made_of_the_certificates_beside_them() -> None:
    """A row of each kind: of sliding blocks, and of a puzzle whose page contains all configurations."""
    made = run_path(str(ROOT / "scripts" / "play_pages.py"))
    rows = {row["page"]: row["certificate"] for row in made["_ROW"].finditer(SPACES.read_text(encoding="utf-8"))}
    assert len(rows) == SPACES.read_text(encoding="utf-8").count("[play]") > 10
    for name, title in (("single-boards-Hakoiri-musume-unit", "Hakoiri-musume"), ("burnt-pancakes-4", "A stack of")):
        file = (SPACES.parent / rows[f"play/{name}.html"]).resolve()
        assert file.stem == name
        assert f"<title>{title}" in (text := made["page_of"](file)) and text.startswith("<!DOCTYPE html>")


@pytest.mark.ci_slow
def test_the_table_is_made_from_the_certificates(tmp_path: Path) -> None:
    """All but the version of the program that made it."""
    table = tmp_path / "growth.csv"
    for file in sorted(file for folder in CERTIFICATES for file in folder.glob("*.json")):
        add_growth(table, growth_row(read_certificate(file)))
    assert [row | {"version": ""} for row in rows_of(table)] == [row | {"version": ""} for row in ROWS]


@pytest.mark.slow
@_LARGE_TABLES
def test_the_certificates_are_of_the_puzzles_of_this_version() -> None:
    """If not, a puzzle's version was raised, and its certificates are to be made again."""
    files = sorted(file for folder in CERTIFICATES for file in folder.glob("*.json"))
    certificates = {file.name: read_certificate(file) for file in files}
    wrong = [name for name, found in certificates.items() if found.identity != identity_of(found)]
    assert (len(files), wrong) == (len(ROWS), [])
    assert len({row["identity"] for row in ROWS}) == len(ROWS)


def small_spaces() -> list[Space]:
    sizes = {(row["puzzle"], row["layers"]): int(row["configurations"]) for row in ROWS}
    small = {puzzle for (puzzle, _), size in sizes.items() if size < _FEW}
    found = sorted((space for space in spaces() if space.puzzle in small), key=bound)
    # Those of most families first.
    return sorted(
        found, key=lambda space: sum(bound(each) < bound(space) for each in found if same_family(each, space))
    )


def same_family(one: Space, two: Space) -> bool:
    return one.puzzle.partition("-")[0] == two.puzzle.partition("-")[0]


@_LARGE_TABLES
@usual(
    1,
    "space",
    [*small_spaces()[:16], *(pytest.param(space, marks=pytest.mark.slow) for space in small_spaces()[16:])],
    ids=lambda space: space.puzzle,
)
def test_rows_are_found_again(space: Space, tmp_path: Path) -> None:
    certify(space, tmp_path / "again.json")
    again = growth_row(read_certificate(tmp_path / "again.json"))
    (row,) = [row for row in ROWS if row["puzzle"] == space.puzzle]
    assert row | {"version": ""} == again | {"version": ""}


def test_a_certificate_of_a_definition_is_verified_without_its_file(tmp_path: Path) -> None:
    file = CERTIFICATES[0] / "lrx_coset-00001111.json"
    report = verify_file(file, True, Resources(), Control(), SilentObserver())
    assert report.ok
    assert report.checked["configurations"] == 70
    wrong = tmp_path / "wrong.json"
    wrong.write_text(file.read_text(encoding="utf-8").replace('"size": 2,', '"size": 3,', 1), encoding="utf-8")
    assert not verify_file(wrong, True, Resources(), Control(), SilentObserver()).ok


def test_anybody_adds_runs_to_a_table(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    with closing(Hakoiri(tmp_path / "home")) as hakoiri:
        hakoiri.ask("run", "pancakes", "-o", "n=5", "--layers", "2")
        assert hakoiri.ask("export", "last", "--growth", str(table))["growth"] == 1
    (part,) = rows_of(table)
    assert (part["exhausted"], part["certificate"], part["layers"]) == ("no", "", "1 4 12")
    with explore("pancakes", options={"n": "5"}, data=tmp_path / "data") as run:
        run.export(tmp_path / "pancakes.json")
    whole = growth_row(read_certificate(tmp_path / "pancakes.json"))
    # Beside the part, and again in place of itself.
    assert [add_growth(table, whole), add_growth(table, whole)] == [2, 2]
    assert rows_of(table) == [part, whole]
    assert add_growth(table, whole | {"identity": "0" * 64}) == 3
    table.write_text("puzzle,layers\n", encoding="utf-8")
    with pytest.raises(UnanswerableError, match="is not a growth table; its first line must be puzzle,"):
        add_growth(table, whole)
    assert tuple(whole) == COLUMNS
