"""All shortest paths, counted and listed, and paths that avoid configurations, beside networkx and plain counting."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from random import Random

import networkx as nx
import pytest

from hakoiri.api import Run
from hakoiri.coordinator.errors import OverBudgetError, UnanswerableError
from hakoiri.coordinator.layers import paths as between
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import ConfigurationError, Hint
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.store import RunStore
from tests.support.plain_search import SlowRules, Successors
from tests.support.refusals import refused
from tests.support.toy import Toy, is_goal
from tests.support.toy_runs import MANNERS, driven, new_run

TOYS = [
    ("u32", "clumped", "no", "Toy"), ("u128", "spread", "no", "Toy"), ("u64", "clumped", "yes", "Toy"),
    ("u256", "spread", "yes", "TwoWayToy"),
]  # fmt: skip


def manners() -> list[object]:
    """Each toy with memory that suffices or with memory that does not, and slowly with both."""
    return [
        pytest.param((manner, *toy), id="-".join((manner, *toy)), marks=() if place % 2 != low else pytest.mark.slow)
        for place, toy in enumerate(TOYS)
        for low, manner in enumerate(["default", "spilling"])
    ]


@pytest.fixture(params=manners())
def toy_run(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Run, nx.DiGraph]]:
    """The exploration of a toy, open, to be asked in memory that suffices or does not, and its moves."""
    manner, layout, keys, directed, kind = request.param
    monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", kind))
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "240"}
    directory = new_run(tmp_path, options)
    driven(directory, Resources())
    table = Toy(options).table
    graph = nx.DiGraph((key, after) for key, successors in table.items() for after in successors)
    resources = MANNERS[manner].take(monkeypatch, layout)
    if manner == "spilling":
        monkeypatch.setattr(between, "_AT_ONCE", 3)
    # Enough for answers, while the layers of a search have as little as the manner says.
    with Run(RunStore(directory), replace(resources, memory=resources.memory and 1 << 20)) as run:
        yield run, graph


def listed(run: Run, target: str, source: str | None = None, avoid: tuple[str, ...] = ()) -> list[list[Key]]:
    """The keys of all shortest paths, of which there are as many as are counted."""
    found = run.shortest_paths(target, source, avoid)
    paths = [one.keys for one in found]
    assert found.count == len(paths)
    assert {len(path) for path in paths} == {found.length + 1} == {run.distance(target, source, avoid) + 1}
    return paths


def test_they_are_those_of_networkx(toy_run: tuple[Run, nx.DiGraph]) -> None:
    run, graph = toy_run
    rng, start = Random(1), run.puzzle.start
    reached = sorted(nx.descendants(graph, start))
    for source in (start, *rng.sample(reached, 2)):
        ends = sorted(nx.descendants(graph, source))
        for target in rng.sample(ends, min(2, len(ends))):
            assert listed(run, f"{target:#x}", f"{source:#x}") == sorted(nx.all_shortest_paths(graph, source, target))
        distances = nx.single_source_shortest_path_length(graph, source)
        nearest = min((distance for key, distance in distances.items() if is_goal(key)), default=None)
        goals = [key for key, distance in distances.items() if is_goal(key) and distance == nearest]
        to_goals = sorted(path for goal in goals for path in nx.all_shortest_paths(graph, source, goal))
        if goals:
            assert listed(run, "goal", f"{source:#x}") == to_goals
        else:
            with pytest.raises(UnanswerableError, match="no path leads"):
                run.shortest_paths("goal", f"{source:#x}")
    farthest = listed(run, "farthest")
    assert farthest == sorted(nx.all_shortest_paths(graph, start, run.path("farthest").keys[-1]))
    # Once the goal distances are known they come without a search.
    run.hardest()
    begin = run.path("farthest").keys[len(farthest[0]) // 2]
    goals_near = {path[-1] for path in listed(run, "goal", f"{begin:#x}")}
    assert sorted(path for end in goals_near for path in nx.all_shortest_paths(graph, begin, end)) == listed(
        run, "goal", f"{begin:#x}"
    )


def test_they_avoid_what_is_named(toy_run: tuple[Run, nx.DiGraph]) -> None:
    run, graph = toy_run
    rng, start = Random(2), run.puzzle.start
    reached, detours = sorted(nx.descendants(graph, start) - {start}), 0
    for source, target in ((start, reached[0]), *(rng.sample(reached, 2) for _ in range(2))):
        if not nx.has_path(graph, source, target):
            continue
        passed = next(nx.all_shortest_paths(graph, source, target))[1:-1]
        avoided = rng.sample(passed, min(2, len(passed)))
        left = graph.subgraph(set(graph) - {*avoided})
        texts = tuple(f"{key:#x}" for key in avoided)
        if not nx.has_path(left, source, target):
            with pytest.raises(UnanswerableError, match="no path leads"):
                run.path(f"{target:#x}", f"{source:#x}", texts)
            continue
        assert listed(run, f"{target:#x}", f"{source:#x}", texts) == sorted(nx.all_shortest_paths(left, source, target))
        detours += bool(avoided)
    assert detours


def plain_counts(successors: Successors, source: Key) -> dict[Key, tuple[int, int]]:
    """For each configuration how far it is from `source`, and by how many shortest paths, layer by layer."""
    found, layer, depth = {source: (0, 1)}, {source: 1}, 0
    while layer:
        following: dict[Key, int] = {}
        depth += 1
        for key, ways in layer.items():
            for after in {after for after in successors(key) if after not in found}:
                following[after] = following.get(after, 0) + ways
        found |= {key: (depth, ways) for key, ways in following.items()}
        layer = following
    return found


def test_the_solutions_of_hakoiri_musume_are_counted(usual_run: Run, merged_run: Run, slow_rules: SlowRules) -> None:
    """With merged mirror images the real boards are counted: from the start both lead to as many."""
    counts = plain_counts(slow_rules("unit", False), usual_run.puzzle.start)
    shortest = min(depth for key, (depth, _) in counts.items() if key >> 28 == 10)
    ways = sum(ways for key, (depth, ways) in counts.items() if key >> 28 == 10 and depth == shortest)
    for run in (usual_run, merged_run):
        found = run.shortest_paths("goal")
        assert (found.length, found.count) == (shortest, ways) == (116, 4_112_640_000)
        for one in islice(found, 3):
            assert all(after in slow_rules("unit", False)(before) for before, after in pairwise(one.keys))
    for target in Random(3).sample(sorted(counts), 5):
        assert usual_run.shortest_paths(f"{target:#x}").count == counts[target][1]
        image = merged_run.shortest_paths(f"{target:#x}")
        assert image.length <= counts[target][0]


def test_patterns_are_avoided(small_run: Run, slow_rules: SlowRules) -> None:
    """As plain counting on what is left finds; alone, and two of them together."""
    keys, puzzle, rules = ints(small_run.configurations()[0]), small_run.puzzle, slow_rules("unit", False)
    target, patterns = small_run.path("farthest").keys[-1], ["****/..**/****/****/****", "****/****/****/****/.*.*"]
    counts = [small_run.shortest_paths(f"{target:#x}").count]
    for avoid in (patterns[:1], patterns[1:], patterns):
        fits = re.compile("|".join(avoid).replace(".", "[.]").replace("*", ".")).fullmatch
        left = {key for key in keys if not fits(puzzle.render(key))}
        ways = plain_counts(
            {key: [after for after in rules(key) if after in left] for key in keys}.__getitem__, puzzle.start
        )
        found = small_run.shortest_paths(f"{target:#x}", avoid=avoid)
        assert (found.length, found.count) == ways[target]
        assert small_run.distance(f"{target:#x}", avoid=avoid) == found.length
        counts.append(found.count)
    assert counts[0] > max(counts[1:3]) > min(counts[1:3]) > counts[3] > 0


def test_what_cannot_be_avoided(usual_run: Run, merged_run: Run) -> None:
    start = usual_run.puzzle.render(usual_run.puzzle.start)
    with refused(UnanswerableError, f"{start} is an end of the path, so it cannot be avoided"):
        usual_run.path(avoid=["****/****/****/****/*..*"])
    with refused(UnanswerableError, "mirror images merged", Hint("run without", "merge_mirrors")):
        merged_run.path(avoid=["****/****/****/****/.**."])
    with pytest.raises(ConfigurationError, match="5 rows"):
        usual_run.path(avoid=["AB"])


def test_the_memory_is_kept_to(usual_run: Run) -> None:
    store = RunStore(usual_run.store.directory)
    with Run(store, Resources(memory=1_000)) as run, pytest.raises(OverBudgetError, match="on all shortest"):
        run.shortest_paths("goal")
