"""Goal distances by a search from all goals at once: those of a plain search, in every manner, whatever happens."""

from contextlib import closing
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from types import MappingProxyType

import numpy as np
import pytest

import hakoiri.run.paths
from hakoiri.api import Run, census, explore, open_run
from hakoiri.cli.puzzles.playing import Hints, PlaySession
from hakoiri.coordinator.errors import MismatchError, RunError, UnanswerableError
from hakoiri.coordinator.goals.job import distances_run
from hakoiri.coordinator.goals.search import GoalFigures
from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs.catalogue import delete_run
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import LAYOUTS, Key, Keys, Mask, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, DATA_FILE, META, PARTIAL_KEY, SPILL_FOLDER, number_key
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.step import Partial
from hakoiri.worker.tasks import TASKS
from tests.coordinator.test_engine_interrupted import STEPS, as_a_kill_leaves_it, calls_of
from tests.support.near_hosts import near_hosts, resources_of
from tests.support.plain_search import SlowRules, Successors
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.runs import Countdown, StoppingAfter, verified
from tests.support.toy import Toy, is_goal
from tests.support.toy_runs import MANNERS, assert_tidy, before_call, driven, new_run, spied

TOYS = [
    ("u32", "clumped", "no"), ("u64", "spread", "no"), ("u256", "clumped", "no"),
    ("u32", "spread", "yes"), ("u64", "clumped", "yes"), ("u128", "spread", "yes"),
]  # fmt: skip
SLOW = pytest.mark.slow
toys = pytest.mark.parametrize(("layout", "keys", "directed"), TOYS)


class Ring(Puzzle):
    """Twenty cells in a ring; a move leads one cell on, or two, so that half of them are never reached."""

    name, layout, undirected, most_successors = "ring", LAYOUTS["u32"], True, 2
    options = MappingProxyType({"metric": Choice(("one", "two"))})

    def usual_start(self) -> Key:
        return 0

    def successors(self, key: Key) -> list[Key]:
        step = 1 if self.parameters["metric"] == "one" else 2
        return sorted({(key + step) % 20, (key - step) % 20})

    def is_goal(self, keys: Keys) -> Mask:
        return np.equal(keys, 0)

    def check_key(self, key: Key) -> None:
        """Every one of them will do."""


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


def plain_layers(successors: Successors, keys: list[Key], goals: list[Key]) -> list[list[Key]]:
    """The `keys` by how far they are from the nearest goal: backwards along all moves, in plain Python."""
    before: dict[Key, list[Key]] = {}
    for key in keys:
        for successor in successors(key):
            before.setdefault(successor, []).append(key)
    seen, layers = set(goals), [sorted(goals)]
    while layers[-1]:
        following = {key for successor in layers[-1] for key in before.get(successor, [])} - seen
        seen |= following
        layers.append(sorted(following))
    return layers[:-1]


@cache
def expected(layout: str, keys: str, directed: str, start: Key) -> tuple[list[list[Key]], int]:
    """Those of a toy, and how many configurations lead to no goal."""
    puzzle = Toy({"layout": layout, "keys": keys, "directed": directed, "size": "240"})
    reached, new = {start}, [start]
    while new:
        new = list({after for key in new for after in puzzle.successors(key)} - reached)
        reached |= {*new}
    layers = plain_layers(puzzle.successors, sorted(reached), [key for key in reached if is_goal(key)])
    return layers, len(reached) - sum(map(len, layers))


def new_distances(data: Path, options: dict[str, str]) -> Path:
    """The directory of a new run of goal distances that has not been driven."""
    directory = new_run(data, options)
    driven(directory, Resources())
    with RunStore(directory) as store:
        return distances_run(store, Toy(options)).make(Resources())


def assert_right(directory: Path, options: dict[str, str]) -> None:
    with RunStore(directory) as store:
        layers, dead = expected(options["layout"], options["keys"], options["directed"], Toy(options).start)
        assert [ints(store.layer(depth)) for depth in range(store.state.depth + 1)] == layers
        found = GoalFigures.of(store.state)
        assert (found.configurations, found.depth, found.dead) == (sum(map(len, layers)), len(layers) - 1, dead)
        assert (store.state.status, found.exhausted) == ("complete", True)
        assert_tidy(store)


@pytest.fixture
def options(layout: str, keys: str, directed: str) -> dict[str, str]:
    """A toy of a few hundred configurations."""
    return {"layout": layout, "keys": keys, "directed": directed, "size": "240"}


def manners() -> list[object]:
    """Each manner with one of the toys, and slowly with all."""
    return [
        pytest.param(manner, *search, marks=() if 5 * number % len(TOYS) == place else SLOW)
        for number, manner in enumerate(MANNERS)
        for place, search in enumerate(TOYS)
    ]


@pytest.mark.parametrize(("manner", "layout", "keys", "directed"), manners())
def test_the_distances_are_those_of_a_plain_search(
    manner: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_distances(tmp_path, options)
    resources = MANNERS[manner].take(monkeypatch, options["layout"])
    passed = spied(monkeypatch, (LayerStep, "run"))
    driven(directory, resources)
    assert_right(directory, options)
    # By passes where the memory is too little for the moves, else only the goals are filtered out.
    if options["directed"] == "yes":
        assert (passed["run"] > 1) == (resources.memory is not None)
    report = verified(directory)
    assert (report.faults, report.complete) == ([], True)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("layout", "keys", "directed"), [pytest.param(*each, marks=() if each == TOYS[1] else SLOW) for each in TOYS[:3]]
)
@pytest.mark.parametrize("copies", [1, 2])
def test_hosts_keep_them_where_moves_can_be_taken_back(
    copies: int, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host is started again in the third layer; where there are copies its disk is gone, too."""
    directory = new_distances(tmp_path, options)
    with near_hosts(tmp_path, monkeypatch) as hosts:
        hosts.copies = copies

        def lose(task: str, host: str, request: HostRequest) -> None:
            if task == "host-merge" and request.depth == 3 and not hosts.asked["lost"]:
                hosts.asked["lost"] = 1
                (hosts.restart if copies == 1 else hosts.lose)(host)
                raise HostLostError(f"{host} is lost")

        hosts.then = lose
        driven(directory, resources_of(monkeypatch, options["layout"]))
        assert hosts.asked["lost"]
        assert hosts.asked["host-merge"] > 10
        hosts.then = lambda *_: None
        assert collect_run(directory, "", Control(), SilentObserver()) > 2
    assert_right(directory, options)
    assert verified(directory).faults == []


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [pytest.param(*each, marks=() if place in (1, 3) else SLOW) for place, each in enumerate(TOYS)],
)
def test_they_may_be_interrupted_at_any_check(
    options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, directory, sessions, status = Random(str(options)), new_distances(tmp_path, options), 0, ""
    while status != "complete":
        sessions += 1
        # Another memory each time: other parts of the targets, and other ranges.
        manner = rng.choice(["starving", "durable", "spilling", "default", "chunks"])
        resources = MANNERS[manner].take(monkeypatch, options["layout"])
        status = driven(directory, resources, StoppingAfter(rng.randrange(1, 30 * sessions + 1))).status
    assert sessions > 1
    assert_right(directory, options)


@pytest.fixture
def two_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy knows its moves backwards."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:TwoWayToy")


two_ways = pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [pytest.param(*toy, marks=() if toy[0] == "u128" else pytest.mark.slow) for toy in TOYS if toy[2] == "yes"],
)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "manner", [pytest.param(name, marks=() if name == "spilling" else pytest.mark.slow) for name in MANNERS]
)
@two_ways
@pytest.mark.usefixtures("two_way")
def test_moves_backwards_of_the_puzzle_lead_to_them(
    manner: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_distances(tmp_path, options)
    resources = MANNERS[manner].take(monkeypatch, options["layout"])
    monkeypatch.setattr(TASKS["leading"], "work", lambda *_: pytest.fail("all that is left is looked at"))
    driven(directory, resources)
    assert_right(directory, options)
    assert verified(directory).ok


@toys
@pytest.mark.slow
def test_they_go_on_after_a_kill(options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources, rng = MANNERS["durable"].take(monkeypatch, options["layout"]), Random(str(options))
    calls = calls_of(STEPS, new_distances(tmp_path / "undisturbed", options), resources)
    directory = new_distances(tmp_path, options)
    left = [tmp_path / f"left-{number}" for number in range(6)]
    with monkeypatch.context() as patch:
        for target, number in zip(left, rng.sample(range(1, calls.total() * 3 // 4), 6), strict=True):
            kill = Countdown(number, partial(as_a_kill_leaves_it, directory, target, rng))
            for step in STEPS:
                before_call(patch, *step, kill)
        driven(directory, resources)
    assert_right(directory, options)
    for target in left:
        driven(target, MANNERS[rng.choice([*MANNERS])].take(monkeypatch, options["layout"]))
        assert_right(target, options)


@pytest.mark.parametrize(("layout", "keys", "directed"), [TOYS[1], TOYS[4]])
def test_what_is_wrong_with_them_is_found_and_mended(options: dict[str, str], tmp_path: Path) -> None:
    directory = new_distances(tmp_path, options)
    driven(directory, Resources())
    with RunStore(directory, writable=True) as store:
        third, fourth = store.layer(3), store.layer(4)
        for depth, keys in ((3, sort_keys(np.concatenate([third, fourth[:1]]))), (4, fourth[1:])):
            store.erase(BLOCKS, number_key(depth))
            store.put_layer(depth, keys, 0)
        store.commit(store.state)
    faults = verified(directory).faults
    assert any(fault.startswith("layer 3: ") for fault in faults)
    with RunStore(directory, writable=True) as store:
        store.erase(BLOCKS, number_key(2))
        store.commit(store.state)
    drive(directory, Resources(), Control(), SilentObserver(), repair=True)
    assert_right(directory, options)


def test_the_memory_for_moves_backwards_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = new_distances(tmp_path, {"layout": "u32", "keys": "spread", "directed": "yes", "size": "240"})
    asked = dict[str, int]()
    before_call(monkeypatch, Budget, "require", lambda _, what, needed: asked.update({what: needed}))
    driven(directory, Resources())
    with RunStore(directory) as store, RunStore(directory.parent / store.manifest.plan["base"]) as base:
        toy = Toy(store.manifest.puzzle["options"])
        keys = [key for depth in range(base.state.depth + 1) for key in ints(base.layer(depth))]
        count, moves = len(keys), sum(len({*toy.successors(key)} - {key}) for key in keys)
    # The keys, where their moves begin, and what a configuration and a move take to be turned and sorted.
    needed = 4 * count + 8 * (count + 1) + 24 * count + 14 * moves
    assert asked[f"the moves of {count:,} configurations backwards"] == needed


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", ["usual_run", "merged_run", pytest.param("whole_run", marks=pytest.mark.slow)])
def test_the_hardest_positions_of_hakoiri_musume(
    kind: str, request: pytest.FixtureRequest, slow_rules: SlowRules
) -> None:
    """The whole distribution, a census with components that have no goal, and mirror images merged."""
    run: Run = request.getfixturevalue(kind)
    successors = slow_rules("unit", kind == "merged_run")
    keys = ints(run.configurations()[0])
    layers = plain_layers(successors, keys, [key for key in keys if key >> 28 == 10])
    found = run.hardest()
    assert (found.layers, found.distance, found.count) == ([*map(len, layers)], len(layers) - 1, len(layers[-1]))
    assert ints(found.configurations) == layers[-1]
    assert (found.dead, found.dead > 0) == (len(keys) - sum(found.layers), kind == "whole_run")
    distances = {key: depth for depth, layer in enumerate(layers) for key in layer}
    some = run.puzzle.keys(Random(1).sample(keys, 300))
    assert run.goal_distances(some).tolist() == [distances.get(key, -1) for key in ints(some)]
    path = run.path("goal", f"{layers[-1][0]:#x}")
    assert (len(path), path.keys[-1] >> 28) == (len(layers) - 1, 10)
    assert all(
        after in slow_rules("unit", False)(before) for before, after in zip(path.keys, path.keys[1:], strict=False)
    )


@pytest.mark.ci_slow
def test_a_known_distance_needs_no_search(usual_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    farthest = usual_run.hardest(1).configurations[0]
    monkeypatch.setattr(hakoiri.run.paths, "search_levels", lambda *_: pytest.fail("a search"))
    assert usual_run.distance("goal", f"{int(farthest):#x}") == HAKOIRI["hardest"]


def test_hints_of_a_game_come_from_them(usual_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not from the run that holds them, though it holds the board, too, and is the last one made."""
    farthest = usual_run.puzzle.render(int(usual_run.hardest(1).configurations[0]))
    monkeypatch.setattr(hakoiri.run.paths, "search_levels", lambda *_: pytest.fail("a search"))
    known = Hints("klotski", PuzzleSpec("klotski"), Klotski(), usual_run.store.directory.parent)
    with closing(known) as hints:
        assert hints.hint(PlaySession(Klotski(start=farthest))).startswith("you are 126 moves from the goal, best: ")


def test_a_player_starts_at_a_distance_of_a_small_space_without_a_run(tmp_path: Path) -> None:
    rules = PuzzleSpec("tiles").build()
    with closing(Hints("tiles", PuzzleSpec("tiles"), rules, tmp_path)) as hints:
        first = hints.start_at(17, 4_711)
        assert hints.hint(PlaySession(rules, first)).startswith("you are 17 moves from the goal, best: ")
        assert first != hints.start_at(17, 4_712)
        with pytest.raises(PuzzleError, match="no configuration is 32 moves from the goal; expected at most 31"):
            hints.start_at(32, 0)
    assert not any(tmp_path.iterdir())
    large = PuzzleSpec("tiles", {"rows": "3", "columns": "4"})
    with (
        closing(Hints("tiles", large, large.build(), tmp_path)) as hints,
        pytest.raises(PuzzleError, match="make a run with: hakoiri run tiles -o rows=3 -o columns=4"),
    ):
        hints.start_at(17, 0)


def test_of_three_by_three_tiles(tmp_path: Path) -> None:
    with explore("tiles", {"rows": "3", "columns": "3"}, data=tmp_path) as run:
        found = run.hardest(1)
        assert (found.distance, found.count, len(found.configurations), found.dead) == (31, 2, 1, 0)


@pytest.mark.ci_slow
def test_by_another_metric(tmp_path: Path) -> None:
    """As a run that counts so finds it; kept beside the run's own."""
    shape = {"rows": "2", "columns": "3"}
    with (
        explore("tiles", shape, data=tmp_path) as run,
        explore("tiles", shape | {"metric": "multi"}, data=tmp_path) as b,
    ):
        own, other, expected = run.hardest(), run.hardest(metric="multi"), b.hardest()
        assert (other.layers, ints(other.configurations)) == (expected.layers, ints(expected.configurations))
        assert (own.metric, other.metric, own.distance > other.distance) == ("single", "multi", True)
        assert (run.hardest(metric="single").distances, run.hardest(metric="multi").distances) == (
            own.distances, other.distances,
        )  # fmt: skip
        assert verify_directory(tmp_path / other.distances, True, Resources(), Control(), SilentObserver()).ok
        with pytest.raises(PuzzleError, match="expected single"):
            run.hardest(metric="straight")
    with (
        explore("pancakes", {"n": "3"}, data=tmp_path) as run,
        pytest.raises(PuzzleError, match="has no option metric"),
    ):
        run.hardest(metric="single")


def test_a_metric_that_leads_elsewhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "ring", f"{__name__}:Ring")
    with explore("ring", {"metric": "two"}, data=tmp_path) as run:
        assert run.hardest().distance == 5
        with pytest.raises(RunError, match=r"the goals with .* reach"):
            run.hardest(metric="one")


@pytest.mark.ci_slow
def test_what_has_no_goal_distances(tmp_path: Path, whole_run: Run, small_starts: dict[int, str]) -> None:
    dead = small_starts[201]
    assert whole_run.hardest(1).dead > 0
    with pytest.raises(UnanswerableError, match=f"no path leads from {dead} to a goal; run {whole_run.name} has"):
        whole_run.path("goal", dead)
    with (
        explore(until_goal=True, data=tmp_path) as run,
        refused(UnanswerableError, "stopped at its first goal", Hint("run without", "until_goal")),
    ):
        run.hardest()
    with explore(start=dead, data=tmp_path) as run:
        with refused(UnanswerableError, "has no goal", Hint("give", "goal", "CONF")):
            run.hardest()
        with refused(UnanswerableError, "are not computed yet", Hint("ask", run.name, "hardest")):
            run.goal_distances(run.layer(0))
        with pytest.raises(PuzzleError, match="has no goal"):
            driven(distances_run(run.store, run.puzzle).make(Resources()), Resources())
        plan = {"base": "../elsewhere", "base_digest": ""}
        with pytest.raises(PuzzleError, match="lacks base and base_digest"):
            make_run(tmp_path, PuzzleSpec("klotski"), "hardest", plan, Resources())


def test_they_belong_to_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with explore("tiles", {"rows": "2", "columns": "2"}, data=tmp_path) as run:
        own, distances = run.name, run.hardest().distances
        assert run.hardest().distances == distances
    with open_run(data=tmp_path) as last:
        assert last.name == own
    with (
        open_run(distances, tmp_path) as other,
        refused(UnanswerableError, "which has no graph of moves", Hint("ask", distances, "hardest")),
    ):
        other.path()
    with explore("pancakes", {"n": "3"}, data=tmp_path) as run:
        another = run.store.directory / DATA_FILE
    (tmp_path / own / DATA_FILE).write_bytes(another.read_bytes())
    with pytest.raises(MismatchError, match="belongs to an earlier run"):
        verify_directory(tmp_path / distances, False, Resources(), Control(), SilentObserver())


def test_they_are_deleted_with_it(tmp_path: Path) -> None:
    with closing(explore("tiles", {"rows": "2", "columns": "2"}, data=tmp_path)) as run:
        distances = run.hardest().distances
    assert delete_run(tmp_path / run.name) == [distances, run.name]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.ci_slow
@two_ways
@pytest.mark.usefixtures("two_way")
def test_moves_backwards_may_be_interrupted_at_any_check(
    options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, directory, sessions, status = Random(str(options)), new_distances(tmp_path, options), 0, ""
    begun = False
    while status != "complete":
        sessions += 1
        manner = rng.choice(["starving", "durable", "spilling"]) if begun else "starving"
        resources = MANNERS[manner].take(monkeypatch, options["layout"])
        checks = rng.randrange(1, 30 * sessions + 1) if begun else sessions
        status = driven(directory, resources, StoppingAfter(checks)).status
        with RunLock(directory), RunStore(directory, writable=True) as store:
            if not begun and store.state.depth > 0 and (found := store.read_partial(Partial)):
                # As an older version left it, which had compared keys with a part of the others.
                store.stage_record(META, PARTIAL_KEY, asdict(replace(found, part=7, expanded=1)))
                store.commit(store.state)
                begun = True
    assert begun
    assert_right(directory, options)


@pytest.mark.parametrize("kind", ["layers", "distances"])
def test_a_repair_leaves_nothing_of_a_layer_that_was_begun(kind: str, tmp_path: Path) -> None:
    options = {"layout": "u32", "keys": "spread", "directed": "no", "size": "240"}
    directory = new_distances(tmp_path, options) if kind == "distances" else new_run(tmp_path, options)
    driven(directory, Resources())
    with RunStore(directory) as store:
        spill = Spill(directory, store.layout, store.state.depth + 1)
        spill.append(0, code_keys(store.state.depth + 1, store.layer(1)))
    assert (directory / SPILL_FOLDER).exists()
    drive(directory, Resources(), Control(), SilentObserver(), repair=True)
    assert not (directory / SPILL_FOLDER).exists()


def test_of_the_whole_space_of_a_directed_puzzle(tmp_path: Path) -> None:
    options = {"layout": "u64", "keys": "clumped", "directed": "yes", "size": "200"}
    puzzle = Toy(options)
    with census("toy", options, data=tmp_path) as run:
        found, keys = run.hardest(), sorted(puzzle.vertices)
        layers = plain_layers(puzzle.successors, keys, [key for key in keys if is_goal(key)])
        assert (found.layers, found.dead) == ([*map(len, layers)], len(keys) - sum(map(len, layers)))
