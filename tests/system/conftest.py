"""Fixtures of the system tests: the command line, Redis servers and workers as real processes, and finished runs."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.commands import FinishedRuns, Hakoiri
from tests.support.servers import RedisServer, Workers, started_workers

StartWorkers = Callable[[str, int], AbstractContextManager[Workers]]


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedRuns:
    """An exploration from the usual start and a census, both by threads with the default settings."""
    command = Hakoiri(tmp_path_factory.mktemp("finished"))
    return FinishedRuns(command, command.ask("run", "klotski"), command.ask("run", "klotski", "--whole"))


@pytest.fixture
def hakoiri(tmp_path: Path) -> Iterator[Hakoiri]:
    """The command line with an empty data directory; what it started is ended with the test."""
    command = Hakoiri(tmp_path)
    yield command
    command.close()


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis server without password or persistence."""
    with RedisServer(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def workers(hakoiri: Hakoiri) -> StartWorkers:
    """``with workers(url, 2) as team:`` two worker processes, alive and known to Redis."""
    return lambda url, count: started_workers(hakoiri, url, count)


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Two workers that the tests of a module share, on a Redis of their own; `farm.url` leads there."""
    directory = tmp_path_factory.mktemp("farm")
    command = Hakoiri(directory)
    with RedisServer(directory / "redis") as server, started_workers(command, server.url, 2) as team:
        yield team
    command.close()
