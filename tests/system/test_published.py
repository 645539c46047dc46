"""Published layer sizes: found by threads, workers and hosts, in memory and spilled, each time with the same digests.

However small the budget, a layer step has 24 MB (`coordinator.session.resources`), a quarter of them for successors. So
only spaces whose keys are sparse or very many can be made to spill; the table says which.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

from hakoiri.coordinator.layers.memory_maker import DepthsMaker
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.names import TABLE_FILE, run_directories
from tests.support.commands import Hakoiri
from tests.support.published import DIAMETERS, HAKOIRI, SPACES, TILES, Space
from tests.support.seeds import usual
from tests.support.servers import RedisServer, started_host, started_workers


@dataclass(frozen=True)
class Way:
    """A way to drive a run. `spilling`: in a budget with room for a puzzle's tables, but not for a large layer.

    `filed`: its table does not fit in memory.
    """

    hosts: bool = False
    workers: bool = False
    spilling: bool = False
    keep: str = "layers"
    filed: bool = False

    def arguments(self, space: Space, url: str) -> list[str]:
        """Return the words that it adds to the command."""
        huge = (space.configurations or 0) > 100_000_000
        memory = ["--memory", "512MB" if huge else "8MB"] if self.spilling else []
        if self.keep != "layers":
            return [*memory, "--keep", self.keep]
        if self.workers:
            return [*memory, "--redis", url, "--hosts", "none", "--farm", "always"]
        kept = ["--redis", url, "--hosts", "all"] if self.hosts else []
        # Else a layer of a few thousand would be expanded at once where the search is.
        return [*memory, *kept, *(["--farm", "1"] if memory or kept else [])]


WAYS = {
    "threads": Way(),
    "threads-spilling": Way(spilling=True),
    "workers": Way(workers=True),
    "workers-spilling": Way(workers=True, spilling=True),
    "hosts": Way(hosts=True),
    "hosts-spilling": Way(hosts=True, spilling=True),
}


@pytest.fixture(scope="module")
def service_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The Redis of two workers, and of two hosts that keep runs, of one thread each."""
    directory = tmp_path_factory.mktemp("service")
    with closing(Hakoiri(directory)) as command, ExitStack() as stack:
        url = stack.enter_context(RedisServer(directory / "redis")).url
        for number in range(2):
            stack.enter_context(started_host(command, url, directory / f"host-{number}"))
        stack.enter_context(started_workers(command, url, 2))
        yield url


def cases() -> Iterator[Any]:
    """Each space by threads; in every way those of the table that are meant for it, and all others if one has time."""
    for space in SPACES:
        name = space.arguments.replace(" -o", "")
        if not space.slow:
            yield pytest.param(space, list(WAYS) if space.every_way else ["threads"], id=name)
        if not space.every_way:
            slow = pytest.mark.ci_slow if name == "pyraminx" else pytest.mark.slow
            yield pytest.param(space, list(WAYS), marks=[slow, pytest.mark.timeout(1800)], id=f"{name}-every-way")


def found(hakoiri: Hakoiri, space: Space, way: Way, url: str = "") -> tuple[dict[str, Any], int]:
    """Return the output of the run, and the number of writes to spill files."""
    spilled: Counter[str] = Counter()
    append = Spill.append

    def counted(self: Spill, *arguments: Any) -> None:
        spilled["times"] += 1
        append(self, *arguments)

    with ExitStack() as stack:
        if not (way.hosts or way.workers):
            # Workers and hosts refuse a run of other code than theirs. Hosts tell what they spilled.
            stack.enter_context(patch.object(Spill, "append", counted))
        if way.filed:
            stack.enter_context(patch.object(DepthsMaker, "fits", lambda _: False))
        if not way.spilling:
            # A machine that does much else would put on disk what has been under way for some seconds.
            stack.enter_context(patch.dict(vars(DEFAULT), checkpoint=1e6))
        return hakoiri.ask("run", *space.words, *way.arguments(space, url)), spilled["times"]


def checked_digest(space: Space, way: Way, hakoiri: Hakoiri, url: str) -> str:
    """The digest of a space driven in one way, which must find what is published."""
    summary, spilled = found(hakoiri, space, way, url)
    layers = tuple(summary["layers"])
    assert layers[: len(space.begin)] == space.begin
    assert layers[len(layers) - len(space.end) :] == space.end
    assert summary["configurations"] == sum(layers)
    for name in ("configurations", "depth", "goal_depth"):
        assert getattr(space, name) in (None, summary[name]), name
    assert (summary["status"], summary["exhausted"]) == ("complete", "--until-goal" not in space.words)
    if way.hosts:
        work_log = hakoiri.ask("status", "last")["work_log"]
        # All that are made of another layer, also the empty one after the last.
        assert work_log["layers"]["hosts"]["layers"] >= summary["depth"]
        spilled = sum(host["spilled"] for host in work_log["kept"]["hosts"])
    if way.workers:
        work_log = hakoiri.ask("status", "last")["work_log"]
        assert work_log["layers"]["workers"]["layers"] == summary["depth"]
        assert {row["name"] is None for row in work_log["expanders"]} == {False}
        if summary["exhausted"]:
            assert sum(row["configurations"] for row in work_log["expanders"]) == summary["configurations"]
    elif way.keep == "layers" and (space.spills or not way.spilling):
        expected = way.spilling and space.spills
        assert bool(spilled) == expected, "nothing was spilled" if expected else "spilled without need"
    assert (run_directories(hakoiri.data)[-1] / TABLE_FILE).exists() == way.filed
    hakoiri.here("delete", "last", "--yes")
    return str(summary["digest"])


@usual(2, ("space", "ways"), list(cases()))
def test_published(space: Space, ways: list[str], hakoiri: Hakoiri, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("service_url") if any(WAYS[name] != Way() for name in ways) else ""
    digests = {name: checked_digest(space, WAYS[name], hakoiri, url) for name in ways}
    puzzle, *options = space.words
    spec = PuzzleSpec(puzzle, dict(word.split("=") for word in options[1::2] if "=" in word))
    if {*options[::2]} <= {"-o"} and (built := with_own_file(spec).build()).numbers and built.undirected:
        digests["depths"] = checked_digest(space, Way(keep="depths"), hakoiri, url)
        digests["depths in a file"] = checked_digest(space, Way(keep="depths", filed=True), hakoiri, url)
    assert len(set(digests.values())) == 1, digests


@pytest.mark.parametrize(("arguments", "known"), DIAMETERS.items())
def test_published_diameters(arguments: str, known: dict[str, int], hakoiri: Hakoiri) -> None:
    hakoiri.here("run", *arguments.split())
    found = hakoiri.ask("diameter", "last")
    assert {name: found[name] for name in known} == known
    assert 0 < len(found["pairs"]) <= found["pair_count"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(("arguments", "known"), TILES.items())
def test_diameters_of_tiles_in_every_way(
    arguments: str, known: dict[str, int], way: Way, hakoiri: Hakoiri, service_url: str
) -> None:
    """The question is asked with the memory that the run was made with."""
    (space,) = (space for space in SPACES if space.arguments == arguments)
    hakoiri.here("run", *space.words, *way.arguments(space, service_url))
    found = hakoiri.ask("diameter", "last", env={"HAKOIRI_REDIS": service_url})
    assert {name: found[name] for name in known} == known
    hakoiri.here("delete", "last", "--yes")


@pytest.mark.ci_slow
def test_hakoiri_musume_as_one_of_many_boards(hakoiri: Hakoiri) -> None:
    """The whole space of the board, as the puzzle made for it counts it."""
    summary = hakoiri.ask("run", "sliding", "--from", HAKOIRI["start"], "--whole")
    for ours, known in (("configurations", "configurations"), ("components", "components"), ("edges", "moves")):
        assert summary[ours] == HAKOIRI[known]
    sizes = Counter(row["size"] for row in hakoiri.ask("components", "last")["components"])
    for size, times in HAKOIRI["component sizes, each with how often"].items():
        assert sizes[size] == times
