"""Options that commands share, as one parameter of their functions."""

from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hakoiri.cli.driving import Asking, Layers, LayersHere
from hakoiri.cli.options import WideOption, ungrouped


def test_a_group_stands_for_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAKOIRI_REDIS", raising=False)
    seen = []

    def command(
        name: Annotated[str, typer.Argument()], wide: WideOption = False, *, asking: Asking, count: int = 1
    ) -> None:
        """Do it."""
        seen.append((name, wide, asking, count))

    assert list(signature(ungrouped(command)).parameters) == [
        "name", "wide", "memory", "puzzle", "data", "json", "count"
    ]  # fmt: skip
    app = typer.Typer()
    app.command()(ungrouped(command))
    line = ["last", "--json", "--memory", "200MB", "--puzzle", "a.py:A", "--count", "3"]
    assert CliRunner().invoke(app, line).exit_code == 0
    assert seen == [("last", False, Asking(memory=200 << 20, puzzle="a.py:A", json=True), 3)]


def test_resources_are_those_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://127.0.0.1:1/0")
    queued = Layers(chunk=10, farm=0, audit=0.5).resources
    assert (queued.redis, queued.workers, queued.chunk, queued.farm, queued.audit) == (
        "redis://127.0.0.1:1/0", None, 10, 0, 0.5
    )  # fmt: skip
    here = LayersHere(redis="redis://127.0.0.1:2/0", workers=3, deadline=2.0, json=True).resources
    assert (here.redis, here.workers, here.deadline, here.memory) == ("redis://127.0.0.1:2/0", 3, 2.0, None)
