"""Identities: two runs that differ in one field have two rows and two answers, or are refused."""

import csv
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri import Run, explore, open_run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.archive import archive_run, restore_run
from hakoiri.coordinator.runs.catalogue import LAST, delete_run, find_run
from hakoiri.coordinator.runs.certificate import Certificate, certificate_of, verify_file, write_certificate
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError
from hakoiri.export import growth
from hakoiri.export.growth import COLUMNS, add_growth, growth_row
from hakoiri.puzzles.hanoi import Hanoi
from hakoiri.questions.question import Long
from hakoiri.render.files import export_run
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.ledger.ledger import create_run
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import CREATED_FILE, run_directories
from hakoiri.web.runs.questions import Questions
from hakoiri.web.settings import Settings
from tests.support.web import TOKEN, client_of

HANOI = {"pegs": "3", "discs": "3"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with explore("hanoi", HANOI, data=tmp_path_factory.mktemp("made")) as run:
        yield run


@pytest.fixture(scope="module")
def certified(made: Run) -> Certificate:
    return certificate_of(made.store)


def puzzle(**fields: object) -> Callable[[Manifest], Manifest]:
    return lambda manifest: replace(manifest, puzzle={**manifest.puzzle, **fields})


#: Manifests that differ from another in one field.
OTHERS: Mapping[str, Callable[[Manifest], Manifest]] = {
    "puzzle": puzzle(name="tiles"),
    "options": puzzle(options={"discs": "3", "pegs": "4"}),
    "start": puzzle(start="1 1 2"),
    "starts": puzzle(starts="1 1 1\n1 1 2"),
    "mirrors": puzzle(merge_mirrors=True),
    "file": puzzle(digest="a" * 64),
    "definition": puzzle(definition="Name X\n"),
    "version": lambda manifest: replace(manifest, puzzle_version=manifest.puzzle_version + 1),
    "layout": lambda manifest: replace(manifest, layout="u64"),
    "kind": lambda manifest: replace(manifest, kind="hardest"),
    "layers": lambda manifest: replace(manifest, plan={"layers": 5}),
    "configurations": lambda manifest: replace(manifest, plan={"most": 5}),
    "until a goal": lambda manifest: replace(manifest, plan={"until_goal": True}),
}


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def in_table(run: Run, other: Manifest, folder: Path) -> bool:
    """Two rows."""
    found, table = certificate_of(run.store), folder / "growth.csv"
    add_growth(table, growth_row(found))
    return add_growth(table, growth_row(replace(found, identity=other.identity))) == 2


def in_certificate(run: Run, other: Manifest, folder: Path) -> bool:
    """The verification of another one's certificate finds fault with it, and explores no layer."""
    write_certificate(replace(certificate_of(run.store), identity=other.identity), folder / "c.json")
    report = verify_file(folder / "c.json", False, Resources(), Control(), SilentObserver())
    refused = any("another version of the puzzle" in fault for fault in report.faults)
    assert report.checked == {"layers": 1} or not refused
    return refused


def in_distances(run: Run, other: Manifest, folder: Path) -> bool:
    """Two identities in files."""
    export_run(run, folder / "run.pdb")
    header = json.loads((folder / "run.pdb").read_bytes().partition(b"\n")[0])
    return bool(header["identity"] != other.identity)


def in_questions(run: Run, other: Manifest, folder: Path) -> bool:
    """Two folders of answers."""
    asked, verify = Questions(Settings(folder)), Long("verify", {})
    mine, others = (
        asked.named(run.name, each.identity, run.store.state, verify).number for each in (run.store.manifest, other)
    )
    return mine != others


WRITERS = [in_table, in_certificate, in_distances, in_questions]


@pytest.mark.parametrize("field", OTHERS)
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_runs_that_differ_in_one_field_are_two(
    made: Run, field: str, writer: Callable[[Run, Manifest, Path], bool], tmp_path: Path
) -> None:
    other = OTHERS[field](made.store.manifest)
    assert other != made.store.manifest
    assert writer(made, other, tmp_path)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_a_run_of_another_name_time_or_chunk_is_the_same(
    made: Run, writer: Callable[[Run, Manifest, Path], bool], tmp_path: Path
) -> None:
    other = replace(made.store.manifest, run="x", created="2020-01-01 00:00:00+00:00", settings={"chunk": 7})
    # A map of before has no empty fields of later versions.
    other = replace(other, puzzle=dict(other.puzzle) | {"starts": "", "definition": ""})
    assert not writer(made, other, tmp_path)


def test_a_certificate_has_the_identity_of_an_exploration_without_limits(made: Run, tmp_path: Path) -> None:
    identity = made.store.manifest.identity
    assert certificate_of(made.store).identity == identity
    for number, given in enumerate([{"keep": "frontier"}, {"layers": 99}, {"most": 99}, {"until_goal": True}]):
        with explore("hanoi", HANOI, data=tmp_path / str(number), **given) as run:  # type: ignore[arg-type]
            assert run.store.manifest.identity != identity
            whole = run.exhausted
            found = certificate_of(run.store, exhausted=False)
        assert (found.identity == identity) == whole
    # Earlier versions wrote no identity.
    write_certificate(replace(certificate_of(made.store), identity=""), tmp_path / "old.json")
    assert "identity" not in (tmp_path / "old.json").read_text(encoding="utf-8")
    assert verify_file(tmp_path / "old.json", True, Resources(), Control(), SilentObserver()).ok


def test_a_growth_table_has_a_row_for_merged_mirrors_and_for_each_limit(tmp_path: Path) -> None:
    table = tmp_path / "growth.csv"
    for number, given in enumerate([{}, {"merge_mirrors": True}, {"layers": 5}, {"layers": 4}, {}]):
        with explore("hanoi", {"pegs": "3", "discs": "6"}, data=tmp_path / str(number), **given) as run:  # type: ignore[arg-type]
            add_growth(table, growth_row(certificate_of(run.store, exhausted=False), run.exhausted))
    rows = [(row["configurations"], row["exhausted"], row["merged_mirrors"]) for row in rows_of(table)]
    assert sorted(rows[:2], key=lambda row: int(row[0])) == rows[:2]
    assert {("729", "yes", "no"), ("365", "yes", "yes")} < {*rows}
    assert [row for row in rows if row[1] == "no"] == rows[:2] and len(rows) == 4


def test_rows_that_are_added_at_once_are_all_there(
    certified: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(table: Path) -> AbstractContextManager[Path]:
        # Whoever reads meanwhile would write the table without this row.
        time.sleep(0.002)
        return replaced(table)

    monkeypatch.setattr(growth, "replaced", late)
    table, row = tmp_path / "growth.csv", growth_row(certified)
    rows = [row | {"identity": f"{number:064x}"} for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(lambda each: add_growth(table, each), rows))
    assert sorted(counts) == list(range(1, 25))
    assert rows_of(table) == rows
    assert [path.name for path in tmp_path.iterdir()] == [table.name]


def test_a_table_of_earlier_columns_is_refused_and_stays(certified: Certificate, tmp_path: Path) -> None:
    table = tmp_path / "growth.csv"
    table.write_text(f"{','.join(COLUMNS[:-2])}\n", encoding="utf-8")
    with pytest.raises(UnanswerableError, match="is not a growth table; its first line must be puzzle,"):
        add_growth(table, growth_row(certified))
    assert table.read_text(encoding="utf-8") == f"{','.join(COLUMNS[:-2])}\n"
    table.write_bytes(b"\xff\xfe\x00" * 100_000)
    with pytest.raises(UnanswerableError, match="is not a growth table"):
        add_growth(table, growth_row(certified))
    table.write_text(f"{','.join(COLUMNS)}\nhanoi,,,many\n", encoding="utf-8")
    with pytest.raises(UnanswerableError, match=r"growth\.csv, line 2, is not a row of a growth table"):
        add_growth(table, growth_row(certified))
    # Made, but not yet written, by a process that was killed.
    table.write_bytes(b"")
    assert add_growth(table, growth_row(certified)) == 1


# An archive is restored as the run that it is of


@pytest.mark.parametrize("field", OTHERS)
def test_an_archive_of_another_run_is_refused(made: Run, field: str, tmp_path: Path) -> None:
    """Though its index has the checksums of its files."""
    data, shelf, manifest = tmp_path / "data", tmp_path / "shelf", replace(made.store.manifest, run="mine")
    archive_run(create_run(data, manifest, False), str(shelf))
    delete_run(data / "mine")
    index = json.loads((shelf / "mine" / "archive.json").read_bytes())
    archive_run(create_run(data, OTHERS[field](manifest), False), str(tmp_path / "others"))
    delete_run(data / "mine")
    for name in ("files", "runs"):
        index[name] = json.loads((tmp_path / "others" / "mine" / "archive.json").read_bytes())[name]
    (tmp_path / "others" / "mine" / "archive.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(DamagedError, match="has another run for mine: identity"):
        restore_run(data, "mine", str(tmp_path / "others"))
    assert run_directories(data) == []
    restore_run(data, "mine", str(shelf))
    assert open_manifest(data / "mine").identity == manifest.identity


def test_an_archive_without_identities_is_restored(made: Run, tmp_path: Path) -> None:
    data, shelf = tmp_path / "data", tmp_path / "shelf"
    archive_run(create_run(data, replace(made.store.manifest, run="mine"), False), str(shelf))
    delete_run(data / "mine")
    file = shelf / "mine" / "archive.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | {"identities": {}}), encoding="utf-8")
    assert restore_run(data, "mine", str(shelf)).runs == ["mine"]


# A pattern database has an entry for each image of a class


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("hanoi", {"options": {"discs": "5", "pegs": "3"}}),
        ("hanoi", {"options": {"discs": "4", "pegs": "5"}}),
        ("hanoi", {"options": {"discs": "4", "pegs": "5"}, "layers": 4}),
        ("tiles", {"options": {"rows": "3", "columns": "3"}, "layers": 9}),
    ],
)
def test_distances_of_merged_mirrors_are_those_of_the_plain_run(
    name: str, given: dict[str, Any], tmp_path: Path
) -> None:
    found = []
    for merged in (False, True):
        with explore(name, data=tmp_path / str(merged), merge_mirrors=merged, **given) as run:
            count = export_run(run, tmp_path / f"{merged}.pdb")
        head, _, table = (tmp_path / f"{merged}.pdb").read_bytes().partition(b"\n")
        header = json.loads(head)
        assert header["configurations"] == count
        found.append((header.pop("identity"), header, table))
    assert found[0][1:] == found[1][1:]
    assert found[0][0] != found[1][0]


def test_some_layers_are_said_to_be_some(made: Run, tmp_path: Path) -> None:
    headers = []
    for layers in (None, 3):
        export_run(made, tmp_path / "run.pdb", layers=layers)
        headers.append(json.loads((tmp_path / "run.pdb").read_bytes().partition(b"\n")[0]))
    assert [(header["depth"], header["whole"]) for header in headers] == [(7, True), (3, False)]


def test_mirror_images_that_no_map_makes_have_no_distances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with explore("hanoi", HANOI, data=tmp_path, merge_mirrors=True) as run:
        monkeypatch.setattr(Hanoi, "mirrors", lambda _: ())
        with pytest.raises(UnanswerableError, match="the mirror images of hanoi cannot be listed"):
            export_run(run, tmp_path / "run.pdb")
    assert not (tmp_path / "run.pdb").exists()


# The last run is the one made last, whatever the clock says


def test_last_is_the_run_made_last_though_the_clock_went_back(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns()
    for number, clock in enumerate([now, now - 10**15, now - 10**15, now + 5, 1]):
        monkeypatch.setattr(time, "time_ns", lambda clock=clock: clock)
        create_run(tmp_path, replace(made.store.manifest, run=f"r{9 - number}"), False)
        assert find_run(tmp_path, LAST).name == f"r{9 - number}"
    # A restored run has the greatest number that is read.
    (tmp_path / "r9" / CREATED_FILE).write_text("9" * 20, encoding="ascii")
    create_run(tmp_path, replace(made.store.manifest, run="r0"), False)
    assert find_run(tmp_path, LAST).name == "r0"


# Over HTTP: a name that is taken again is another run


@pytest.mark.ci_slow
def test_a_key_is_not_answered_with_another_run_of_the_name(tmp_path: Path) -> None:
    wanted, key = {"puzzle": "hanoi", "options": HANOI, "name": "mine"}, {"Idempotency-Key": "one"}
    with client_of(Settings(tmp_path, token=TOKEN)) as client:
        first = client.post("/api/runs", json=wanted, headers=key)
        assert (first.status_code, first.json()["run"]) == (202, "mine")
        manifest = open_manifest(tmp_path / "mine")
        client.delete("/api/runs/mine")
        assert client.post("/api/runs", json=wanted, headers=key).status_code == 404
        for change in OTHERS.values():
            create_run(tmp_path, change(manifest), False)
            other = client.post("/api/runs", json=wanted, headers=key)
            assert (other.status_code, "take a new key" in other.json()["detail"]) == (410, True)
            assert client.delete("/api/runs/mine").status_code == 200
        # The same run made anew is the one that is meant.
        create_run(tmp_path, manifest, False)
        assert client.post("/api/runs", json=wanted, headers=key).status_code == 202


def open_manifest(directory: Path) -> Manifest:
    with open_run(directory.name, directory.parent) as run:
        return run.store.manifest


def test_a_server_that_has_a_run_open_answers_for_the_next_one_of_its_name(tmp_path: Path) -> None:
    def explored(puzzle: str, options: dict[str, str]) -> None:
        with explore(puzzle, options, data=tmp_path) as run:
            run.store.directory.rename(tmp_path / "mine")

    explored("tiles", {"rows": "2", "columns": "2"})
    with client_of(Settings(tmp_path, token=TOKEN)) as client:
        first = client.get("/api/runs/mine/layers")
        number = client.post("/api/runs/mine/verify").headers["location"]
        assert client.get(number).status_code == 200
        (tmp_path / "mine").rename(tmp_path / "away")
        explored("pancakes", {"n": "4"})
        assert client.get("/api/runs/mine").json()["puzzle"] == "pancakes"
        assert client.get(number).status_code == 404
        second = client.get("/api/runs/mine/layers", headers={"If-None-Match": first.headers["etag"]})
        assert (second.status_code, second.json() == first.json()) == (200, False)
