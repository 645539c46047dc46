"""The command, the fields over HTTP and the kinds of a puzzle follow from the declaration of a kind of run."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import TypeAdapter
from typer.testing import CliRunner

from hakoiri.cli.app import Command, app
from hakoiri.cli.options import ungrouped
from hakoiri.cli.starting import command_of
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.kinds import KINDS, kind_class, kind_of, kinds_for
from hakoiri.coordinator.session.kind import documented
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import PuzzleError
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, puzzle_class
from hakoiri.rows.puzzles import kind_rows
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.web.settings import Settings
from tests.support.web import TOKEN, client_of
from tests.system import toy_kind


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind ``count`` is known, which the program knows nothing about."""
    monkeypatch.setitem(KINDS, "count", "tests.system.toy_kind:Count")


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_says_all_that_others_ask_of_it(name: str) -> None:
    kind = kind_class(name)
    assert kind_of(name).parameters is kind
    assert (kind.__doc__ or "").split("\n")[0].endswith(".")
    assert all(text.endswith(".") for text in documented(kind).values())
    assert bool(kind.csv[0]) == ("csv" in kind.files)
    shown = [each for each in fields(kind) if "names" in each.metadata]
    if not kind.example:
        assert not shown
        return
    found = typer.main.get_command(app)
    for word in kind.example.split()[: kind.words]:
        found = found.commands[word]  # type: ignore[attr-defined]
    options = {option for param in found.params for option in param.opts}
    assert {option for each in shown for option in each.metadata["names"]} <= options
    assert {"--queue", "--json"} <= options


@pytest.mark.usefixtures("count")
def test_a_new_kind_has_its_command(tmp_path: Path) -> None:
    """Help, defaults as they are typed, the queue, JSON."""
    program = typer.Typer()
    program.command("count", cls=Command)(ungrouped(command_of("count", toy_kind.Count)))
    told = CliRunner().invoke(program, ["--help"])
    flat = " ".join(told.stdout.split())
    for word in ("Count to a number.", "PUZZLE", "Any puzzle.", "--step", "[default: 1k]", "--tens", "--queue"):
        assert word in flat
    words = ["hanoi", "-o", "discs=2", "--step", "3", "--tens", "--to", "2k", "--queue", "--json", "--data"]
    told = CliRunner().invoke(program, [*words, str(tmp_path)])
    assert told.exit_code == 0, told.output
    with Ledger(tmp_path / json.loads(told.stdout)["run"]) as ledger:
        assert (ledger.manifest.kind, dict(ledger.manifest.plan)) == ("count", {"step": 30})
        assert ledger.limits() == {"to": 2000}
    assert CliRunner().invoke(program, ["hanoi", "--step", "0"]).exit_code == 2


@pytest.mark.usefixtures("count")
def test_a_new_kind_is_made_over_http_and_its_fields_are_checked(tmp_path: Path) -> None:
    with client_of(Settings(tmp_path / "data", token=TOKEN)) as client:
        wanted = {"puzzle": "hanoi", "kind": "count"}
        made = client.post("/api/runs", json=wanted | {"step": 2, "to": 4})
        assert (made.status_code, made.json()["kind"]) == (202, "count")
        for more, said in (
            ({"step": "2"}, "body.step: Input should be a valid integer"),
            ({"deals": 2}, "body.deals: Unexpected keyword argument"),
            ({"until_goal": True}, "body.until_goal: Unexpected keyword argument"),
        ):
            refused = client.post("/api/runs", json=wanted | more)
            assert (refused.status_code, refused.json()["detail"]) == (422, said)


@pytest.mark.usefixtures("count")
def test_a_puzzle_lists_the_new_kind_if_that_fits() -> None:
    assert "count" in kinds_for(puzzle_class("hanoi"))
    assert "count" not in kinds_for(puzzle_class("magic-star"))
    assert "count" in {row["kind"] for row in kind_rows()}


@pytest.mark.usefixtures("count")
@pytest.mark.parametrize("name", [*KINDS, "count"])
def test_a_puzzle_that_cannot_have_such_a_run_is_refused(name: str, tmp_path: Path) -> None:
    """In one line, before anything else of the plan is looked at."""
    kind = kind_class(name)
    misfits = [each for each in PUZZLES if not kind.may_be_of(puzzle_class(each))]
    assert misfits
    for puzzle in misfits:
        with pytest.raises(PuzzleError) as refusal:
            make_run(tmp_path, PuzzleSpec(puzzle), name, {"no": "such plan"}, Resources())
        text = str(refusal.value)
        assert puzzle in text
        assert not {"\n", "{"} & {*text}
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("row", [row for row in kind_rows() if row["fields"]], ids=lambda row: str(row["kind"]))
def test_a_kind_takes_what_its_form_begins_with(row: dict[str, Any]) -> None:
    given = json.dumps({each["name"]: each["form"] for each in row["fields"]})
    made = TypeAdapter(kind_class(row["kind"])).validate_json(given)
    taken = {name: getattr(made, name) for name in json.loads(given)}
    assert json.loads(json.dumps(taken)) == json.loads(given)
    made.checked(PuzzleSpec("hanoi"))


def test_the_description_of_the_interface_has_the_fields_of_every_kind(tmp_path: Path) -> None:
    with client_of(Settings(tmp_path / "data", token=TOKEN)) as client:
        told = client.app.openapi()  # type: ignore[attr-defined]
    body = told["paths"]["/api/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    found = {each["title"]: each["properties"] for each in body["anyOf"]}
    assert found.keys() == KINDS.keys()
    for name, properties in found.items():
        words = documented(kind_class(name))
        assert {field: properties[field]["description"] for field in words} == words
        assert {"puzzle", "options", "start", "merge_mirrors", "name"} <= properties.keys()
