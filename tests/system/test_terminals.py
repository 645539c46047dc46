"""Texts of somebody else on a terminal: shown, and nothing else; a malformed run ends no list."""

import re
from pathlib import Path
from typing import Any

import pytest
import redis

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.tables import facts, stderr, stdout
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import META
from hakoiri.worker.transport import connection
from tests.support.commands import Finished, Hakoiri
from tests.support.runs import driven

TILES = PuzzleSpec("tiles", {"rows": "2", "columns": "2"})
#: Sets the title of a terminal, clears it, answers as if typed; as bytes of C1 too; and turns the direction of writing.
EVIL = "\x1b]0;mine\x07\x1b[2J\x1b[6n\x9b2J\x08\x7f\u202e\u2066\u2028 [red]x[/] [/nothing] [link=http://evil]y :smile:"
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown(finished: Finished) -> str:
    """Return the output, after a check that it does nothing to a terminal."""
    printed = finished.stdout + finished.stderr
    assert not _ACTS.findall(printed), printed
    assert "Traceback" not in printed
    return printed


def changed(directory: Path, record: str, **fields: Any) -> None:
    """A record of a run, whoever wrote it; its checksum is right."""
    with Ledger(directory, writable=True) as ledger:
        known = ledger.manifest.as_dict() if record == "manifest" else ledger.state.as_dict()
        if record == "manifest":
            ledger.stage_record(META, b"manifest", known | fields)
            ledger.commit(ledger.state)
        else:
            ledger.commit(State(**vars(ledger.state) | fields))


@pytest.fixture
def directory(hakoiri: Hakoiri) -> Path:
    """One run beside another, which is as it should be."""
    driven(hakoiri.data, TILES, "explore", {}, {})
    return driven(hakoiri.data, TILES, "census", {}, {})


def test_a_run_of_somebody_else_is_listed_and_shown(hakoiri: Hakoiri, directory: Path) -> None:
    changed(directory, "manifest", created=EVIL, mode=EVIL, puzzle=TILES.as_dict() | {"name": EVIL})
    changed(directory, "state", status="failed", reason=EVIL)
    assert "explore" in shown(hakoiri.here("runs"))
    said = shown(hakoiri.here("status", directory.name))
    assert "\\x1b]0;mine" in said and "\\u202e" in said
    assert "[red]x[/] [/nothing] [link=http://evil]y :smile:" in said
    for command in ("resume", "verify", "layers", "path", "cancel"):
        shown(hakoiri.here(command, directory.name, check=False))


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ("manifest", {"created": 5}),
        ("manifest", {"created": None}),
        ("manifest", {"puzzle": {}}),
        ("manifest", {"puzzle": {"name": "tiles", "options": 3, "start": None, "merge_mirrors": False}}),
        ("manifest", {"plan": [1]}),
        ("manifest", {"plan": {"created": ["x"], "puzzle": {"a": 1}, "mode": [1], "run": 7}}),
        ("manifest", {"mode": {}}),
        ("state", {"status": "dancing"}),
        ("state", {"reason": 7}),
        ("state", {"seconds": float("nan")}),
        ("state", {"seconds": float("inf")}),
        ("state", {"depth": "deep"}),
        ("state", {"work_log": {"layers": {"workers": ["x", None]}}}),
        ("state", {"work_log": {"layers": {"unknown": [1, 2]}, "hosts": {"a": {}}, "why_here": 5}}),
        ("state", {"figures": {"depth": {"a": 1}, "configurations": "many", "status": 4}}),
    ],
    ids=str,
)
def test_a_malformed_run_ends_no_list(hakoiri: Hakoiri, directory: Path, record: str, fields: dict[str, Any]) -> None:
    changed(directory, record, **fields)
    assert "explore" in shown(hakoiri.here("runs"))
    assert len(hakoiri.here("runs", "--json").json["runs"]) == 2
    shown(hakoiri.here("status", directory.name, check=False))


def test_names_of_workers_are_shown(hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    living = {f"{EVIL}-1": "", f"b{EVIL}-2": f"redis://{EVIL}"}
    monkeypatch.setattr(connection, "connect", lambda _: redis.Redis())
    monkeypatch.setattr(connection, "living_workers", lambda *_: living)
    assert "\\x1b[2J" in shown(hakoiri.here("health", "--redis", "redis://127.0.0.1:1/0", data=None))


def test_everything_that_is_printed_is_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    for console in (stdout(), stderr()):
        console.print(EVIL)
        console.print(facts({EVIL: EVIL}))
        console.print(EVIL, style="red")
    printed = "".join(capsys.readouterr())
    assert not _ACTS.findall(printed)
    assert printed.count("[link=http://evil]y :smile:") >= 6
