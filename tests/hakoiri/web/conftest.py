"""One application over three finished runs, asked in this process."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from hakoiri.web.settings import Settings
from tests.support.commands import Hakoiri
from tests.support.web import TOKEN, client_of, small_runs


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


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of three kinds; nobody may change them."""
    directory = tmp_path_factory.mktemp("served")
    command = Hakoiri(directory)
    names = small_runs(command.data)
    with client_of(Settings(command.data, token=TOKEN)) as client:
        yield Served(command.data, client, command, *names)
