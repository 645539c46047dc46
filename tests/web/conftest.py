"""One application over three finished runs, asked in this process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hakoiri.web.app import make_app
from hakoiri.web.settings import Settings
from puzzles.registry import PuzzleSpec
from tests.support.runs import driven
from tests.system.helpers import Hakoiri

TOKEN = "a-token-that-only-tests-have"  # noqa: S105


@dataclass(frozen=True)
class Served:
    """A data directory, the command line for it, and an application that serves it, asked with its token.

    `small` is a search that has a goal, `whole` a census, `directed` a search whose moves lead one way.
    """

    data: Path
    client: TestClient
    command: Hakoiri
    small: str
    whole: str
    directed: str

    def said(self, *words: str) -> dict[str, Any]:
        """The JSON of the command line, which opens runs in this process itself."""
        self.client.app.state.runs.close()  # type: ignore[attr-defined]
        return self.command.ask(*words)


def client_of(settings: Settings) -> TestClient:
    """Asks with the token, as from the machine itself."""
    headers = {"Authorization": f"Bearer {settings.token}"}
    return TestClient(make_app(settings), "http://127.0.0.1:8080", headers=headers, raise_server_exceptions=False)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of three kinds; nobody may change them."""
    directory = tmp_path_factory.mktemp("served")
    command = Hakoiri(directory)
    tiles = PuzzleSpec("tiles", {"rows": "2", "columns": "3"})
    small = driven(command.data, tiles, "explore", {}, {}).name
    whole = driven(command.data, PuzzleSpec("sliding", {}, "AABB/C..D"), "whole", {}, {}).name
    directed = driven(command.data, PuzzleSpec("gap", {"ranks": "4"}), "explore", {}, {}).name
    with client_of(Settings(command.data, token=TOKEN)) as client:
        yield Served(command.data, client, command, small, whole, directed)
