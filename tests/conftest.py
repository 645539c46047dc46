"""Fixtures that many tests share: a whole space, reference rules, a census, explorations large, small and merged."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from hakoiri.api import Run, census, explore
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.timing import compiling_seconds
from tests.support.plain_search import SlowRules, Successors

#: Where files cost no waiting for a disk, if it has that much room: not in a container as it comes.
_MEMORY, _ROOM_BYTES = Path("/dev/shm"), 4 << 30

# Garbage collections take a fourth of the time until the first test.
gc.disable()
# Below nohup it is ignored, and by all that is started, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# The same examples each time, and others besides where there is time.
_EXAMPLES = 500 if os.environ.get("HAKOIRI_MANY_SEEDS") else 50
settings.register_profile("suite", deadline=None, derandomize=True, max_examples=_EXAMPLES)
settings.load_profile("suite")
with suppress(OSError):
    if shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are cores: tests that wait are marked, and each process takes seven seconds to start."""
    return len(os.sched_getaffinity(0))


def _processor_seconds() -> float:
    """Return the processor seconds of this process, without compiling, and of all its children that have ended."""
    return sum(os.times()[:4]) - compiling_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a case without a mark that takes more processor seconds than ``HAKOIRI_MOST_SECONDS``, if that is set."""
    began = _processor_seconds()
    yield
    seconds, most = _processor_seconds() - began, float(os.environ.get("HAKOIRI_MOST_SECONDS", "inf"))
    if seconds > most and not any(map(item.get_closest_marker, ("slow", "ci_slow"))):
        pytest.fail(f"took {seconds:.1f} processor seconds, over {most:g}: make it smaller, or mark it ci_slow")


def pytest_collection_finish() -> None:
    """Freeze all objects: otherwise each garbage collection visits all tests and modules."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def all_keys() -> Keys:
    """Every configuration of Hakoiri-musume, in increasing order."""
    return np.concatenate(list(Klotski().configurations()))


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
def slow_rules(all_keys: Keys) -> SlowRules:
    """Successors by metric, and whether mirror images count as one, for plain searches.

    They come from the kernels: a slow test compares these with plain Python on the whole space.
    """
    class_of = dict(zip(all_keys.tolist(), Klotski().canonical(all_keys).tolist(), strict=True))

    @cache
    def table(metric: str) -> dict[Key, list[Key]]:
        found, counts = Klotski({"metric": metric}).expand(all_keys)
        rows = np.split(found, np.cumsum(counts)[:-1])
        return {key: row.tolist() for key, row in zip(all_keys.tolist(), rows, strict=True)}

    def rules(metric: str, merge_mirrors: bool) -> Successors:
        successors = table(metric).__getitem__
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


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's state in a folder of the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
