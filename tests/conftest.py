"""What many tests share: the whole space, reference rules, a census, and explorations large, small and merged."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hakoiri.api import Run, census, explore
from puzzles.keys.layout import Key, Keys
from puzzles.sliding_blocks.klotski import Klotski
from tests.support.searching import SlowRules, Successors

#: Where files cost no waiting for a disk, if it has that much room: not in a container as it comes.
_MEMORY, _ROOM_BYTES = Path("/dev/shm"), 4 << 30

settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
with suppress(OSError):
    if shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are cores: each imports everything anew, which costs more than their waiting."""
    return len(os.sched_getaffinity(0))


@pytest.fixture(scope="session")
def all_keys() -> Keys:
    """Every configuration of Hakoiri-musume, in increasing order."""
    return np.concatenate(list(Klotski().configurations()))


@pytest.fixture(scope="session")
def slow_successors() -> Callable[[str], Successors]:
    """The plain Python successors of a metric, each configuration expanded once for all tests."""
    known: dict[str, dict[Key, list[Key]]] = {}

    def of_metric(metric: str) -> Successors:
        puzzle, table = Klotski({"metric": metric}), known.setdefault(metric, {})

        def successors(key: Key) -> list[Key]:
            if key not in table:
                table[key] = puzzle.successors(key)
            return table[key]

        return successors

    return of_metric


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A finished census of the unit metric, open."""
    with census(data=tmp_path_factory.mktemp("census")) as run:
        yield run


@pytest.fixture(scope="session")
def usual_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A finished exploration from the usual start by the unit metric, open."""
    with explore(data=tmp_path_factory.mktemp("usual")) as run:
        yield run


@pytest.fixture(scope="session")
def small_starts(whole_run: Run) -> dict[int, str]:
    """A configuration of a component of each size that is there, as text."""
    records = whole_run.components()
    return {record.size: whole_run.puzzle.render(record.representative) for record in reversed(records)}


@pytest.fixture(scope="session")
def slow_rules(all_keys: Keys, slow_successors: Callable[[str], Successors]) -> SlowRules:
    """Plain successors by metric, and whether mirror images count as one.

    Those of the unit metric come from the kernel: a slow test compares it with plain Python on the whole space.
    """
    class_of = dict(zip(all_keys.tolist(), Klotski().canonical(all_keys).tolist(), strict=True))
    found, counts = Klotski().expand(all_keys)
    rows = np.split(found, np.cumsum(counts)[:-1])
    unit = {key: row.tolist() for key, row in zip(all_keys.tolist(), rows, strict=True)}

    def rules(metric: str, merge_mirrors: bool) -> Successors:
        successors = unit.__getitem__ if metric == "unit" else slow_successors(metric)
        return (lambda key: [class_of[image] for image in successors(key)]) if merge_mirrors else successors

    return rules


@pytest.fixture(scope="session")
def merged_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The exploration from the usual start, mirror images merged, open."""
    with explore(merge_mirrors=True, data=tmp_path_factory.mktemp("merged")) as run:
        yield run


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory, small_starts: dict[int, str]) -> Iterator[Run]:
    """The exploration of a component of 248 configurations, open."""
    with explore(start=small_starts[248], data=tmp_path_factory.mktemp("small")) as run:
        yield run
