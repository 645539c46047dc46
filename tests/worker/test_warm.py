"""What a worker loads before a task."""

import json
import subprocess
import sys

import pytest

from hakoiri.worker.hosts.requests import HOST_TASKS
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.warm import _LOADERS, kernels_of, load_host_kernels, load_search_kernels


def test_a_task_has_the_kernels_of_its_family() -> None:
    assert _LOADERS.keys() <= TASKS.keys(), "a task that there is not"
    assert {kernels_of(task) for task in HOST_TASKS} == {load_host_kernels}
    for family in ({"forest", "neighbours"}, {"look", "pairs", "searches"}, {"move", "play"}):
        (load,) = {kernels_of(task) for task in family}
        assert load not in (load_search_kernels, load_host_kernels)


def test_tasks_on_graphs_call_no_kernel_but_those_loaded_for_them() -> None:
    """Those would be compiled by each worker, and not by one for all."""
    words = [sys.executable, "-m", "tests.support.unloaded"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 8
    assert [task for task, kernels in map(json.loads, said) if kernels] == []


@pytest.mark.parametrize("puzzle", ["klotski", "gap"])
def test_a_run_by_threads_loads_all_that_it_calls_and_nothing_of_workers(puzzle: str) -> None:
    words = [sys.executable, "-m", "tests.support.loaded", puzzle]
    before, while_working = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert "_lanes" in before
    assert {"_flow", "_fill_of"}.isdisjoint(before)
    assert while_working == []
