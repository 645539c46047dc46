"""Runs from several starts, against a plain search from all of them: layers, answers, certificates, refusals."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, census, explore, open_run, resume_run, verify_run
from hakoiri.coordinator.errors import ContradictionError, MismatchError, UnanswerableError
from hakoiri.coordinator.runs.certificate import certificate_of, read_certificate, verify_certificate
from hakoiri.coordinator.runs.create import make_run, require_same
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles import starts
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.reading import read_board
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import BLOCKS, MANIFEST_KEY, META, number_key
from tests.support import near_hosts
from tests.support.near_hosts import NearHosts
from tests.support.runs import Notes, StoppingAfter
from tests.support.seeds import first_usual, usual
from tests.support.toy_runs import MANNERS, driven

#: Layers are dropped as soon as there are three, in memory for a table of all depths, and in less.
TUNING = Tuning(least_dropped=0, checkpoint=-1.0, table_rest=0.0)
TABLE = Resources(tuning=TUNING)
STEPS = Resources(memory=1, tuning=replace(TUNING, least_bytes=100_000))
SLIDING = "AAB/.CB/.DD"
SPACES: dict[str, tuple[dict[str, str], str | None]] = {
    "pancakes": ({"n": "6"}, None), "tiles": ({"rows": "2", "columns": "3"}, None),
    "hanoi": ({"pegs": "3", "discs": "4"}, None), "topspin": ({"n": "7"}, None),
    "burnt-pancakes": ({"n": "4"}, None), "sliding": ({}, SLIDING), "gap": ({"ranks": "3"}, None),
}  # fmt: skip
TOYS = [("u32", "low", "no"), ("u64", "clumped", "yes"), ("u128", "spread", "no"), ("u256", "clumped", "yes")]


def plain_layers(puzzle: Puzzle, starts: Iterable[Key]) -> list[list[Key]]:
    """The layers from all starts together, by the rules alone."""
    seen = set(starts)
    layers = [sorted(seen)]
    while layers[-1]:
        following = {after for key in layers[-1] for after in puzzle.successors(key)} - seen
        seen |= following
        layers.append(sorted(following))
    return layers[:-1]


def some(puzzle: Puzzle, count: int, seed: int = 1) -> list[Key]:
    """Configurations on random walks from the start."""
    rng, found, key = Random(seed), list[Key](), puzzle.start
    while len(found) < count:
        for _ in range(rng.randrange(40)):
            key = rng.choice(puzzle.successors(key) or [puzzle.start])
        found.append(key)
    return found


def texts_of(puzzle: Puzzle, keys: Iterable[Key]) -> list[str]:
    return [puzzle.render(key) for key in keys]


def assert_layers(run: Run, expected: list[list[Key]]) -> None:
    assert run.exhausted
    assert run.layer_sizes == [*map(len, expected)]
    for depth in range(run.store.kept.first, len(expected)):
        assert ints(run.layer(depth)) == expected[depth]
    found = [record.goals for record in run.layer_records()]
    assert found == [int(run.puzzle.is_goal(run.puzzle.keys(layer)).sum()) for layer in expected]


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


def toy_spec(layout: str, keys: str, directed: str, count: int = 40) -> tuple[PuzzleSpec, list[list[Key]]]:
    """A toy of some hundred configurations from a tenth of them; and its layers."""
    spec = PuzzleSpec("toy", {"layout": layout, "keys": keys, "directed": directed, "size": "300"})
    puzzle = spec.build()
    starts = some(puzzle, count)
    return replace(spec, starts="\n".join(f"{key:#x}" for key in starts)), plain_layers(puzzle, starts)


@usual(len(SPACES) - 1, "puzzle", sorted(SPACES, key="tiles".__eq__))
def test_layers_and_distances_are_those_of_a_plain_search(puzzle: str, tmp_path: Path) -> None:
    options, start = SPACES[puzzle]
    rules = PuzzleSpec(puzzle, options, start).build()
    starts = some(rules, 5)
    expected = plain_layers(rules, starts)
    with explore(puzzle, options, starts=texts_of(rules, starts), data=tmp_path) as run:
        assert_layers(run, expected)
        for depth, layer in enumerate(expected):
            for key in layer[:: 1 + len(layer) // 5]:
                path = run.path(f"{key:#x}")
                assert len(path) == run.distance(f"{key:#x}") == depth
                assert path.keys[0] in starts
                assert path.keys[-1] == key
                assert all(after in rules.successors(key) for key, after in zip(path.keys, path.keys[1:], strict=False))
        assert len(run.path("farthest")) == len(expected) - 1
    assert verify_run("last", tmp_path).ok
    assert verify_run("last", tmp_path, full=True).ok


@usual(1, ("keep", "ways"), [("frontier", STEPS), ("depths", STEPS), ("depths", TABLE)])
@usual(1, "puzzle", ["pancakes", "tiles", "topspin"])
def test_what_a_run_keeps(puzzle: str, keep: str, ways: Resources, tmp_path: Path) -> None:
    options, _ = SPACES[puzzle]
    rules = PuzzleSpec(puzzle, options).build()
    starts = some(rules, 7)
    expected = plain_layers(rules, starts)
    with explore(puzzle, options, starts=starts, keep=keep, data=tmp_path, resources=ways) as run:
        assert run.store.kept.first > 0
        assert_layers(run, expected)
        for depth, layer in enumerate(expected if keep == "depths" else []):
            for key in layer[:: 1 + len(layer) // 5]:
                assert run.distance(f"{key:#x}") == depth
                assert run.path(f"{key:#x}").keys[0] in starts
    assert verify_run("last", tmp_path).ok
    assert verify_run("last", tmp_path, full=True).ok


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(("layout", "keys", "directed"), TOYS)
@usual(2, "manner", ["crowded", "starving", "farmed", "chunks"])
def test_in_every_manner(
    manner: str, layout: str, keys: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, expected = toy_spec(layout, keys, directed)
    resources = MANNERS[manner].take(monkeypatch, layout)
    driven(make_run(tmp_path, spec, None, {}, resources), resources)
    with open_run("last", tmp_path) as run:
        assert_layers(run, expected)


@pytest.mark.ci_slow
@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(("layout", "keys", "directed"), first_usual(2, *TOYS))
def test_a_search_may_be_interrupted_at_any_check(
    layout: str, keys: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, expected = toy_spec(layout, keys, directed)
    directory, sessions, status, rng = make_run(tmp_path, spec, None, {}, Resources()), 0, "", Random(3)
    while status != "complete":
        sessions += 1
        resources = MANNERS["chunks"].take(monkeypatch, layout)
        status = driven(directory, resources, StoppingAfter(rng.randrange(1, 30 * sessions))).status
    assert sessions > 2
    with open_run("last", tmp_path) as run:
        assert_layers(run, expected)


@pytest.mark.ci_slow
@pytest.mark.usefixtures("toy")
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("layout", "keys", "directed"), TOYS[:2])
def test_hosts_take_their_keys_of_layer_0(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, expected = toy_spec(layout, keys, directed)
    resources, notes = near_hosts.resources_of(monkeypatch, layout), Notes()
    directory = make_run(tmp_path, spec, None, {}, resources)
    assert near_hosts.driven(directory, resources, notes, until=1).status == "interrupted"
    assert near_hosts.driven(directory, resources, notes).status == "complete"
    assert any("layers from 1 on are kept by" in text for text in notes.texts)
    hosts.then = lambda *_: None
    assert collect_run(directory, "", Control(), SilentObserver()) > 1
    with open_run(directory.name, tmp_path) as run:
        assert_layers(run, expected)


@pytest.mark.ci_slow
def test_a_pattern_is_all_that_it_matches_and_takes_no_list(tmp_path: Path) -> None:
    puzzle = PuzzleSpec("tiles", {"rows": "2", "columns": "3"}).build()
    keys = np.concatenate([*puzzle.configurations()])
    starts = [key for key in ints(keys) if puzzle.render(key)[0] == "1"]
    assert len(starts) == 60
    for number, lines in enumerate([["1**/***"], ["1??/???"], ["; all with 1", "1**/***", "1.2/345", "12*/***"]]):
        with explore("tiles", puzzle.option_texts(), starts=lines, data=tmp_path / str(number)) as run:
            assert_layers(run, plain_layers(puzzle, starts))
            assert verify_run("last", tmp_path / str(number), full=True).ok
            assert run.distance("1.2/345") == 0
    # With depths in a table, too.
    with explore("tiles", puzzle.option_texts(), starts=["1**/***"], keep="depths", data=tmp_path) as run:
        assert [run.distance(f"{key:#x}") for key in starts] == [0] * len(starts)
        assert verify_run("last", tmp_path, full=True).ok


@pytest.mark.ci_slow
def test_a_phase_of_the_cube(tmp_path: Path) -> None:
    """The first face of a cube: the corners of one face in their places, as a pattern, in at most six half turns."""
    with explore("cube2", starts=["UUUU/????/????/????/????/????"], data=tmp_path) as run:
        assert run.reached.configurations == run.puzzle.total == 3_674_160
        # Four corners of the upper face in any order, the three others anyhow, and those that turn.
        assert {text[:4] for text in run.texts(run.layer(0)[::37])} == {"UUUU"}
        assert verify_run("last", tmp_path).ok
    certificate = certificate_of(run_store(tmp_path))
    assert certificate.deal == "UUUU/????/????/????/????/????\n"


def run_store(data: Path) -> RunStore:
    return RunStore(next(data.glob("*-*")))


def test_the_distance_between_two_sets(tmp_path: Path) -> None:
    puzzle = PuzzleSpec("tiles", {"rows": "2", "columns": "3", "goal": "543/***"}).build()
    starts = some(puzzle, 3)
    layers = plain_layers(puzzle, starts)
    nearest = next(depth for depth, layer in enumerate(layers) if puzzle.is_goal(puzzle.keys(layer)).any())
    ways = dict.fromkeys(layers[0], 1)
    for layer in layers[1 : nearest + 1]:
        ways = {key: sum(ways.get(before, 0) for before in puzzle.successors(key)) for key in layer}
    expected = sum(count for key, count in ways.items() if puzzle.is_goal(puzzle.keys([key]))[0])
    with explore("tiles", puzzle.option_texts(), starts=starts, until_goal=True, data=tmp_path) as run:
        assert run.store.state.figures["goal_depth"] == nearest > 2
        assert run.layer_sizes == [*map(len, layers[: nearest + 1])]
        path = run.path()
        assert (len(path), path.keys[0] in starts) == (nearest, True)
        assert puzzle.is_goal(puzzle.keys(path.keys[-1:]))[0]
        paths = run.shortest_paths()
        assert paths.count == len({tuple(each.keys) for each in paths}) == expected
        assert {each.keys[0] for each in paths} <= {*starts}
        with pytest.raises(UnanswerableError, match="stopped at its first goal"):
            run.path("farthest")


@pytest.mark.ci_slow
def test_a_path_from_one_start_and_paths_that_avoid_some(tmp_path: Path) -> None:
    puzzle = PuzzleSpec("pancakes", {"n": "6"}).build()
    starts = sorted({*some(puzzle, 9)})
    with explore("pancakes", {"n": "6"}, starts=starts, data=tmp_path) as run:
        target = ints(run.layer(run.store.state.depth))[0]
        distances = {
            start: next(depth for depth, layer in enumerate(plain_layers(puzzle, [start])) if target in layer)
            for start in starts
        }
        for start, distance in distances.items():
            assert run.distance(f"{target:#x}", f"{start:#x}") == distance
        assert run.distance(f"{target:#x}") == min(distances.values())
        nearest = [start for start, distance in distances.items() if distance == min(distances.values())]
        avoided = [puzzle.render(start) for start in nearest]
        path = run.path(f"{target:#x}", avoid=avoided)
        assert path.keys[0] in {*starts} - {*nearest}
        assert not {*nearest} & {*path.keys}


def test_goal_distances(tmp_path: Path) -> None:
    """Starts in both halves of a space that is not connected; and the starts as goals, which need no search."""
    puzzle = PuzzleSpec("tiles", {"rows": "2", "columns": "3", "goal": "*1*/***"}).build()
    with explore("tiles", puzzle.option_texts(), starts=some(puzzle, 4), data=tmp_path / "a") as run:
        goals = [key for layer in plain_layers(puzzle, [puzzle.start]) for key in layer]
        goals = [key for key, goal in zip(goals, puzzle.is_goal(puzzle.keys(goals)), strict=True) if goal]
        expected = plain_layers(puzzle, goals)
        hardest = run.hardest()
        assert hardest.layers == [*map(len, expected)]
        assert verify_run(hardest.distances, tmp_path / "a", full=True).ok
    with explore("tiles", puzzle.option_texts(), starts=["*1*/***"], keep="depths", data=tmp_path / "b") as run:
        assert run.start_is_the_goal()
        assert (run.hardest().layers, run.hardest().distances) == (hardest.layers, run.name)


def test_starts_of_which_none_leads_to_another(tmp_path: Path) -> None:
    board = "AAAA/B..C"
    puzzle = PuzzleSpec("sliding", {"goal": "A@1,1"}, board).build()
    with explore("sliding", {"goal": "A@1,1"}, starts=[board, "B..C/AAAA"], data=tmp_path) as run:
        one, other = plain_layers(puzzle, [puzzle.parse(board)]), plain_layers(puzzle, [puzzle.parse("B..C/AAAA")])
        assert run.reached.configurations == sum(map(len, one)) + sum(map(len, other))
        assert verify_run("last", tmp_path, full=True).ok
        asks: list[Any] = [run.diameter, run.components, run.weak_components, run.eccentricities, run.map]
        asks += [run.strong_components, lambda: run.component_of(board), run.statistics]
        for ask in asks:
            with pytest.raises(UnanswerableError, match="has several starts"):
                ask()
        assert run.kind(run.store, run.puzzle).questions() == ["farthest"]
        # Goals are among one half alone.
        assert run.hardest().dead == sum(map(len, other))


def test_a_pattern_of_the_pieces_of_a_board(tmp_path: Path) -> None:
    """The first line says which pieces there are."""
    with explore("sliding", starts=[SLIDING, "AAB/**B/***"], data=tmp_path) as run:
        texts = {text[:3] + text[6:7] for text in run.texts(run.layer(0))}
        assert (texts, len(run.layer(0)) > 1) == ({"AABB"}, True)
        assert verify_run("last", tmp_path, full=True).ok


def test_a_layer_of_another_run_as_starts(tmp_path: Path) -> None:
    with explore("pancakes", {"n": "6"}, data=tmp_path / "a") as whole:
        layer = whole.layer(3)
        with explore("pancakes", {"n": "6"}, starts=layer, data=tmp_path / "b") as run:
            assert_layers(run, plain_layers(whole.puzzle, ints(layer)))


def test_reuse_and_resume_compare_the_set(tmp_path: Path) -> None:
    lines = ["2,1,3,4", "4,3,2,1", "1,3,2,4"]
    with explore("pancakes", {"n": "4"}, starts=lines, data=tmp_path) as run:
        pass
    again = [lines[0], *lines[2:], "name  4 3 2 1", "; nothing", "1,3,2,4"]
    with explore("pancakes", {"n": "4"}, starts=again, data=tmp_path, reuse=True) as other:
        assert other.name == run.name
    with explore("pancakes", {"n": "4"}, starts=lines[:2], data=tmp_path, reuse=True) as other:
        assert other.name != run.name
    manifest = run_manifest(tmp_path / run.name)
    require_same(manifest, {}, "\n".join(reversed(lines)))
    for wrong in ("\n".join(lines[:2]), lines[0]):
        with pytest.raises(MismatchError, match="has starts of its own, and cannot resume with others"):
            require_same(manifest, {}, wrong)


def run_manifest(directory: Path) -> Manifest:
    with RunStore(directory) as store:
        return store.manifest


def checked(path: Path) -> Report:
    return verify_certificate(read_certificate(path), True, Resources(), Control(), SilentObserver())


@pytest.mark.parametrize("starts", [["1,3,2,4,5", "4,3,2,1,5"], ["1,*,*,*,*", "2,1,3,4,5"]])
def test_certificates_have_all_starts(starts: list[str], tmp_path: Path) -> None:
    with explore("pancakes", {"n": "5"}, starts=starts, data=tmp_path) as run:
        run.export(tmp_path / "c.json")
    assert checked(tmp_path / "c.json").ok
    text = (tmp_path / "c.json").read_text()
    first = text.index('"deal": "') + 9
    (tmp_path / "c.json").write_text(text[:first] + "3,2,1,5,4\\n" + text[first:])
    report = checked(tmp_path / "c.json")
    assert any(fault.startswith("layer 0: ") for fault in report.faults)


def test_verify_says_that_layer_0_is_not_the_starts(tmp_path: Path) -> None:
    with explore("pancakes", {"n": "5"}, starts=["1,3,2,4,5", "4,3,2,1,5"], data=tmp_path) as run:
        assert run.spec.starts == "1 3 2 4 5\n4 3 2 1 5"
    with RunStore(tmp_path / run.name, writable=True) as store:
        fields = store.manifest.as_dict()
        fields["puzzle"] = {**fields["puzzle"], "starts": "1 3 2 4 5\n4 3 1 2 5"}
        store.stage_record(META, MANIFEST_KEY, fields)
        store.commit(store.state)
    assert "layer 0 differs from the starts of the run" in "".join(verify_run("last", tmp_path).faults)


@pytest.mark.ci_slow
def test_exports_are_of_the_distances_to_all_starts(tmp_path: Path) -> None:
    with explore("pancakes", {"n": "5"}, starts=["1,3,2,4,5", "*,*,1,*,*"], data=tmp_path) as run:
        run.export(tmp_path / "t.pdb")
        head, _, table = (tmp_path / "t.pdb").read_bytes().partition(b"\n")
        assert json.loads(head)["start"] == "1 3 2 4 5\n*,*,1,*,*"
        for name in ("t.csv", "t.npz", "t.dot", "t.html"):
            assert run.export(tmp_path / name) == 120
        keys = [key for depth in range(len(run.layer_sizes)) for key in ints(run.layer(depth))]
        assert [(table[key // 2] >> 4 * (key % 2)) % 16 - 1 for key in keys] == [run.distance(f"{k:#x}") for k in keys]


def test_a_repair_makes_layer_0_again(tmp_path: Path) -> None:
    with explore("pancakes", {"n": "5"}, starts=["1,3,2,4,5", "4,3,2,1,5"], data=tmp_path) as run:
        sizes = run.layer_sizes
    with RunStore(tmp_path / run.name, writable=True) as store:
        store.erase(BLOCKS, number_key(0))
        store.commit(store.state)
    assert not verify_run("last", tmp_path).ok
    with resume_run("last", tmp_path, repair=True) as run:
        assert run.layer_sizes == sizes
    assert verify_run("last", tmp_path, full=True).ok


FILES = {
    "tiles": (".12/345\n\n# one\n1.2/345  ; two\nx 12x/345\n", "line 5: "),
    "sliding": ("AAB/.CB/.DD\nAAB/.CB/DD.\n; two walls\nAAB/.CB/.D.\n", "line 4: expected 2 pieces of 1x2, found 1"),
    "pancakes": ("1,2,3,4,5,6,7,8\n2,1,3,4,5,6,7,8\n2,1,3,4,5,6,7,7\n", "line 3: "),
    "gap": ("", "is empty"),
    "hanoi": ("; nothing\n#\n", "no starts found, expected 1 to 50,000"),
}


@pytest.mark.parametrize("puzzle", [*FILES])
def test_a_malformed_file_is_refused_with_its_line(puzzle: str, tmp_path: Path) -> None:
    text, said = FILES[puzzle]
    file = tmp_path / "starts.txt"
    file.write_text(text)
    options = {"rows": "2", "columns": "3"} if puzzle == "tiles" else {}
    with pytest.raises(ConfigurationError, match=said) as caught:
        explore(puzzle, options, starts=file, data=tmp_path)
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.glob("*-*")]


@pytest.mark.parametrize(
    ("puzzle", "starts", "options", "said"),
    [
        ("sliding", ["AAB/*CB/.DD", "AAB/.CB/.DD"], {}, "line 1: "),
        ("peg-solitaire", ["??ooo??/*"], {}, "lists no configurations, or over .*, so a start cannot be a pattern"),
        (
            "tiles",
            ["1234/5678/9abc/def*"],
            {"rows": "4", "columns": "4"},
            "or over 4,294,967,296, so a start",
        ),
        ("pancakes", ["1,2,3"], {}, "line 1: "),
        ("tiles", ["***/***/**"], {}, "line 1: "),
        ("magic-star", ["0x1"], {}, "a run of the kind tree has one start, not several"),
    ],
)
def test_what_cannot_be_a_start_is_refused_in_one_line(
    puzzle: str, starts: list[str], options: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises((PuzzleError, ContradictionError), match=said) as caught:
        explore(puzzle, options, starts=starts, data=tmp_path)
    assert "\n" not in str(caught.value)
    assert not [*tmp_path.glob("*-*")]


def test_a_list_that_is_longer_than_known_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "_MOST_LISTED", 11)
    puzzle = PuzzleSpec("tiles", {"rows": "2", "columns": "2"}).build()
    puzzle.total = None
    with pytest.raises(PuzzleError, match="over 11 configurations to compare"):
        [*starts.Starts(puzzle, "1*/**").blocks()]


def test_what_cannot_be_combined(tmp_path: Path) -> None:
    lines = ["BAAC/BAAC/DFFE/DGHE/I..J", "BAAC/BAAC/DFFE/D.HE/IG.J"]
    with pytest.raises(PuzzleError, match="klotski has no mirror images to merge with several starts"):
        explore("klotski", starts=lines, merge_mirrors=True, data=tmp_path)
    with pytest.raises(PuzzleError, match="start and starts cannot be combined"):
        explore("klotski", start=lines[0], starts=lines, data=tmp_path)
    spec = PuzzleSpec("klotski", starts="\n".join(lines))
    with pytest.raises(PuzzleError, match="a run of the kind census has one start, not several"):
        make_run(tmp_path, spec, "census", {}, Resources())
    with census("tiles", {"rows": "2", "columns": "2"}, data=tmp_path) as run:
        assert run.diameter().record.diameter == 6
    with pytest.raises(PuzzleError, match=r"no configuration of tiles is like the pattern"):
        explore("tiles", {"rows": "2", "columns": "2"}, starts=["12/3*"], data=tmp_path)


@pytest.mark.parametrize(
    ("puzzle", "text", "expected"),
    [
        ("tiles", "1 2 3\n4 5 6\n7 8 0\n", False), ("tiles", "12./345/678\n; x\n1.2/345/678\n", True),
        ("tiles", "Level 1/10\n\n123\n456\n78.\n", False), ("tiles", "12./345/678\n", False),
        ("pancakes", "1,2,3,4,5,6,7,8\n2,1,3,4,5,6,7,8\n", True), ("pancakes", "# one\n\n2,1,3,4,5,6,7,8\n", False),
        ("sliding", "AAB\n.CB\n.DD\n", False), ("sliding", "AAB/.CB\na  AAB/C.B\n", True),
        ("tiles", "0x1\n0x2\n", True),
    ],
)  # fmt: skip
def test_lines_are_starts_or_the_rows_of_one(puzzle: str, text: str, expected: bool, tmp_path: Path) -> None:
    file, spec = tmp_path / "x", PuzzleSpec(puzzle)
    file.write_text(text)
    assert spec.are_starts(text) is expected
    assert (read_board(str(file), spec.are_starts) == text) is expected


def test_a_pattern_is_no_start() -> None:
    pegs = PuzzleSpec("peg-solitaire")
    assert PuzzleSpec("tiles").are_starts("1**/***/***")
    assert not PuzzleSpec("tiles").are_starts("12./345/678")
    assert not PuzzleSpec("tiles").are_starts("12/345/678")
    assert "*" in pegs.build().start_text()
    assert not pegs.are_starts(pegs.build().start_text())
    assert not PuzzleSpec("sliding").are_starts("A*/..")
