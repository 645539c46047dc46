"""The file of findings: kept by kind and number, whole after a kill, and honest about damage and strangers."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.results.findings import Findings

ABOUT = {"puzzle": "gap", "seed": "1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where no file is yet, nor its directory."""
    return tmp_path / "studies" / "some.sqlite"


def test_findings_come_back_by_kind_in_the_order_of_their_numbers(path: Path) -> None:
    with Findings(path, ABOUT) as findings:
        findings.add("ranks=4", 3, {"moves": 12, "words": ["é", None]})
        findings.add_many("ranks=4", {2: {"moves": 5}, 1: {"moves": None}})
        findings.add("ranks=5", 2, {"moves": 7})
        findings.add("ranks=4", 2, {"moves": 6})
    with Findings(path, ABOUT) as findings:
        rows = findings.rows("ranks=4")
        assert list(rows.items()) == [(1, {"moves": None}), (2, {"moves": 6}), (3, {"moves": 12, "words": ["é", None]})]
        assert findings.rows("ranks=5") == {2: {"moves": 7}}
        assert findings.rows("ranks=6") == {}
        assert findings.about() == {"version": "1", **ABOUT}


def test_several_may_add_to_one_file(path: Path) -> None:
    with Findings(path, ABOUT) as one, Findings(path, ABOUT) as other:
        for number in range(0, 20, 2):
            one.add("x", number, {"by": 1})
            other.add("x", number + 1, {"by": 2})
        assert one.rows("x") == other.rows("x")
        assert list(one.rows("x")) == list(range(20))


def test_any_program_that_knows_sqlite_can_read_it(path: Path) -> None:
    with Findings(path, ABOUT) as findings:
        findings.add("ranks=4", 7, {"moves": 12})
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT number, json_extract(figures, '$.moves') FROM findings").fetchall()
    connection.close()
    assert rows == [(7, 12)]


@pytest.mark.parametrize("about", [{"puzzle": "gap", "seed": "2"}, {**ABOUT, "cap": "9"}])
def test_a_file_of_something_else_is_refused(path: Path, about: dict[str, str]) -> None:
    Findings(path, ABOUT).close()
    with pytest.raises(
        StorageError, match=r"was made with (seed '1', this asks for '2'|cap None, .*'9'); give another"
    ):
        Findings(path, about)
    Findings(path, ABOUT).close()


def test_several_are_added_all_or_none(path: Path) -> None:
    too_large = 1 << 70
    with Findings(path, ABOUT) as findings:
        findings.add("x", 1, {})
        with pytest.raises(OverflowError):
            findings.add_many("x", {2: {}, too_large: {}})
        assert list(findings.rows("x")) == [1]
        findings.add("x", 3, {})
    with Findings(path, ABOUT) as findings:
        assert list(findings.rows("x")) == [1, 3]


def test_a_beginning_that_fails_leaves_no_half_of_what_the_file_belongs_to(path: Path) -> None:
    with pytest.raises(StorageError):
        Findings(path, {"puzzle": "gap", "seed": object()})  # type: ignore[dict-item]
    Findings(path, ABOUT).close()


def test_what_was_added_outlives_a_kill(path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from storage.results.findings import Findings\n"
        f"findings = Findings(Path(sys.argv[1]), {ABOUT!r})\n"
        "for number in range(1_000_000):\n"
        "    findings.add('x', number, {'square': number * number}); print(number, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout as said:
        while int(said.readline()) < 25:
            pass
        os.kill(process.pid, signal.SIGKILL)
        last = [25, *map(int, said.read().split())][-1]
    with Findings(path, ABOUT) as findings:
        rows = findings.rows("x")
    # One more may have been added and not been told.
    assert list(rows) in ([*range(last + 1)], [*range(last + 2)])
    assert all(figures == {"square": number * number} for number, figures in rows.items())


@pytest.mark.parametrize("damage", ["noise", "cut", "figures"])
def test_damage_is_said_in_one_line_that_names_the_file(path: Path, damage: str) -> None:
    with Findings(path, ABOUT) as findings:
        findings.add_many("x", {number: {"text": "long " * 50} for number in range(200)})
    raw = path.read_bytes()
    if damage == "figures":
        connection = sqlite3.connect(path)
        connection.execute("UPDATE findings SET figures = '{\"text' WHERE number = 7")
        connection.commit()
        connection.close()
    else:
        path.write_bytes(b"no such file format" * 999 if damage == "noise" else raw[: len(raw) // 2])
    with pytest.raises(StorageError) as told, Findings(path, ABOUT) as findings:
        findings.rows("x")
    message = str(told.value)
    assert str(path) in message
    assert "is damaged" in message
    assert "\n" not in message


def test_a_place_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    (tmp_path / "directory.sqlite").mkdir()
    for path in (tmp_path / "file" / "some.sqlite", tmp_path / "directory.sqlite"):
        with pytest.raises(StorageError, match="cannot be used"):
            Findings(path, ABOUT)
