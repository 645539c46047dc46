"""What a worker loads before a task."""

from worker.tasks import SHUFFLES, TASKS
from worker.warm import _LOADERS, kernels_of, load_search_kernels


def test_a_task_has_the_kernels_of_its_family() -> None:
    assert _LOADERS.keys() <= TASKS.keys(), "a task that there is not"
    assert {kernels_of(half) for half in SHUFFLES} == {load_search_kernels}
    for family in ({"forest", "neighbours"}, {"eccentricities", "look", "pairs", "searches"}, {"move", "play"}):
        (load,) = {kernels_of(task) for task in family}
        assert load is not load_search_kernels
