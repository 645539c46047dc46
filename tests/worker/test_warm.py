"""The kernels that a worker or a run loads before it works."""

import json
import subprocess
import sys
from typing import Any

import pytest

from hakoiri.worker.hosts.requests import HOST_TASKS
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.warm import _LOADERS, kernels_of, load_host_kernels, load_search_kernels, load_space_kernels
from tests.worker.loaded_kernels import HOSTED, RUNS


def test_a_task_has_the_kernels_of_its_family() -> None:
    assert _LOADERS.keys() <= {*TASKS, *HOST_TASKS}, "a task that there is not"
    assert {kernels_of(task) for task in HOST_TASKS} == {load_host_kernels, load_space_kernels}
    for family in ({"forest", "neighbours"}, {"look", "pairs", "searches"}, {"move", "play"}):
        (load,) = {kernels_of(task) for task in family}
        assert load not in (load_search_kernels, load_host_kernels)


@pytest.fixture(scope="module")
def kernels() -> dict[str, list[Any]]:
    """The kernels of each task on graphs and of each run, as `loaded_kernels` prints them: a list of each line."""
    words = [sys.executable, "-m", "tests.worker.loaded_kernels"]
    found: dict[str, list[Any]] = {}
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        name, names = json.loads(line)
        found.setdefault(name, []).append(names)
    return found


@pytest.mark.ci_slow
def test_tasks_on_graphs_call_no_kernel_but_those_loaded_for_them(kernels: dict[str, list[Any]]) -> None:
    """Each worker would compile such a kernel again, instead of one worker for all of them."""
    of_tasks = {name: found for name, found in kernels.items() if name in TASKS}
    assert sum(map(len, of_tasks.values())) == 8
    assert [name for name, found in of_tasks.items() if any(found)] == []


@pytest.mark.ci_slow
@pytest.mark.parametrize("puzzle", RUNS)
def test_a_run_by_threads_loads_all_that_it_calls_and_nothing_of_workers(
    puzzle: str, kernels: dict[str, list[Any]]
) -> None:
    ((before, while_working),) = kernels[puzzle]
    assert "_lanes" in before
    assert {"_flow", "_fill_of"}.isdisjoint(before)
    assert while_working == []


@pytest.mark.parametrize("puzzle", HOSTED)
def test_hosts_load_all_that_they_call(puzzle: str, kernels: dict[str, list[Any]]) -> None:
    """Else each would compile it for some seconds, in the midst of its first layer, or of a space."""
    assert kernels[f"{puzzle} by hosts"] == [[], []]
