"""Published layer sizes: found by threads and by workers, in memory and spilled, each time with the same digests.

However small the budget, a layer step has 24 MB (`coordinator.session.budget.LEAST_BYTES`), a quarter of them for
successors, so that only spaces with layers of several hundred thousand can be made to spill; the table says which.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

from storage.layers.spill import Spill
from tests.support.published import HAKOIRI
from tests.system.helpers import Hakoiri
from tests.system.published_spaces import DIAMETERS, SPACES, Space
from tests.system.servers import Workers


@dataclass(frozen=True)
class Way:
    """How a run is driven. `spilling`: in a budget in which a large layer does not fit.

    `alone` leaves this process one core, so that there are more workers than threads and they merge, too.
    """

    workers: bool = False
    spilling: bool = False
    alone: bool = False

    def arguments(self, space: Space, url: str) -> list[str]:
        """What it adds to the command."""
        huge = (space.configurations or 0) > 100_000_000
        memory = ["--memory", "512MB" if huge else "1MB"] if self.spilling else []
        farmed = ["--redis", url] if self.workers else []
        # Else a layer of a few thousand would be expanded at once where the search is.
        return [*memory, *farmed, *(["--farm-from", "1"] if memory or farmed else [])]


#: The first is that with which the others are compared.
WAYS = {
    "threads": Way(),
    "threads-spilling": Way(spilling=True),
    "workers": Way(workers=True),
    "workers-spilling": Way(workers=True, spilling=True),
    "workers-merging-spilling": Way(workers=True, spilling=True, alone=True),
}
CASES = [
    pytest.param(
        space, way, id=f"{space.arguments.replace(' -o', '')}-{name}",
        marks=[pytest.mark.slow, pytest.mark.timeout(1800)] if space.slow else [],
    )
    for space in SPACES
    for name, way in WAYS.items()
    if space.spills or name != "workers-spilling"
]  # fmt: skip
Digest = Callable[[Space], str]


def found(hakoiri: Hakoiri, space: Space, way: Way, url: str = "") -> tuple[dict[str, Any], int]:
    """What the run prints, and how often it wrote to a spill file."""
    spilled: Counter[str] = Counter()
    append = Spill.append

    def counted(self: Spill, *arguments: Any) -> None:
        spilled["times"] += 1
        append(self, *arguments)

    with ExitStack() as stack:
        stack.enter_context(patch.object(Spill, "append", counted))
        if way.alone:
            stack.enter_context(patch("coordinator.executors.opening.cores", return_value=1))
        return hakoiri.ask("run", *space.words, *way.arguments(space, url)), spilled["times"]


@pytest.fixture(scope="module")
def digest_by_threads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Digest]:
    """The digest of a space in the first of the ways, computed once."""
    known: dict[str, str] = {}
    hakoiri = Hakoiri(tmp_path_factory.mktemp("by-threads"))

    def digest(space: Space) -> str:
        if space.arguments not in known:
            known[space.arguments] = found(hakoiri, space, WAYS["threads"])[0]["digest"]
            hakoiri.here("delete", "last", "--yes")
        return known[space.arguments]

    yield digest
    hakoiri.close()


@pytest.mark.parametrize(("space", "way"), CASES)
def test_published(space: Space, way: Way, hakoiri: Hakoiri, farm: Workers, digest_by_threads: Digest) -> None:
    summary, spilled = found(hakoiri, space, way, farm.url)
    layers = tuple(summary["layers"])
    assert layers[: len(space.begin)] == space.begin
    assert layers[len(layers) - len(space.end) :] == space.end
    assert summary["configurations"] == sum(layers)
    for name in ("configurations", "depth", "goal_depth"):
        assert getattr(space, name) in (None, summary[name]), name
    assert (summary["status"], summary["exhausted"]) == ("complete", "--until-goal" not in space.words)
    if space.spills or not way.spilling:
        assert bool(spilled) == way.spilling, "nothing was spilled" if way.spilling else "spilled without need"
    assert summary["digest"] == digest_by_threads(space)
    hakoiri.here("delete", "last", "--yes")


@pytest.mark.parametrize(("arguments", "known"), DIAMETERS.items())
def test_published_diameters(arguments: str, known: dict[str, int], hakoiri: Hakoiri) -> None:
    hakoiri.here("run", *arguments.split())
    found = hakoiri.ask("diameter", "last")
    assert {name: found[name] for name in known} == known
    assert 0 < len(found["pairs"]) <= found["pair_count"]


def test_hakoiri_musume_as_one_of_many_boards(hakoiri: Hakoiri) -> None:
    """The whole space of the board, as the puzzle made for it counts it."""
    summary = hakoiri.ask("run", "sliding", "--from", HAKOIRI["start"], "--whole")
    for ours, known in (("configurations", "configurations"), ("components", "components"), ("edges", "moves")):
        assert summary[ours] == HAKOIRI[known]
    sizes = Counter(row["size"] for row in hakoiri.ask("components", "last")["components"])
    for size, times in HAKOIRI["component sizes, each with how often"].items():
        assert sizes[size] == times
