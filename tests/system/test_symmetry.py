"""Runs of mirror classes against runs of the whole space: layers, digests, represented configurations, paths."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hakoiri.api import Run, explore
from hakoiri.coordinator.runs.certificate import read_certificate, verify_file, write_certificate
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.conformance.pool import RefusedError
from hakoiri.puzzles.conformance.rules import check_map, orbit_of
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.files import export_run
from hakoiri.storage.layers.blocks import digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord
from tests.support.runs import StoppingAfter, verified
from tests.support.seeds import usual

#: Puzzle, options, start, symmetries that keep it, configurations that it reaches, and their classes, if published.
_SPACES = [
    ("hanoi", {"pegs": "3", "discs": "6"}, None, 2, 3**6),
    ("hanoi", {"pegs": "4", "discs": "6"}, None, 6, 4**6),
    ("hanoi", {"pegs": "5", "discs": "4"}, "DA/./C/B/.", 2, 5**4),
    ("hanoi", {"pegs": "8", "discs": "2"}, None, 5040, 64),
    ("topspin", {"n": "8", "k": "4"}, None, 16, 5040),
    ("topspin", {"n": "9", "k": "4"}, None, 18, 20_160),
    ("topspin", {"n": "6", "k": "3"}, "1 2 3 4 6 5", 4, 12),
    ("tiles", {"rows": "2", "columns": "3"}, "1.2/345", 2, 360),
    ("tiles", {"rows": "3", "columns": "3"}, None, 2, 181_440),
    ("tiles", {"rows": "3", "columns": "3"}, "123/4.5/678", 8, 181_440),
    ("tiles", {"rows": "3", "columns": "3", "blank": "last", "metric": "multi"}, None, 2, 181_440),
    ("pyraminx", {}, None, 24, 933_120),
    ("klotski", {}, None, 2, 25_955),
]
_IDS = [" ".join([name, *options.values(), start or ""]).strip() for name, options, start, *_ in _SPACES]


def records(run: Run) -> list[LayerRecord]:
    return run.layer_records()


def digest(keys: Keys) -> str:
    return digest_text(lanes_of(keys))


#: Spaces of more configurations take seconds.
_LARGE = 100_000


@usual(
    1,
    ("name", "options", "start", "symmetries", "size"),
    [
        pytest.param(*space, marks=[pytest.mark.slow] * (space[-1] > _LARGE), id=name)
        for space, name in zip(_SPACES, _IDS, strict=True)
    ],
)
def test_classes_expanded_by_the_group_are_the_layers_of_the_whole_space(
    name: str, options: dict[str, str], start: str | None, symmetries: int, size: int, tmp_path: Path
) -> None:
    with (
        explore(name, options, start=start, data=tmp_path) as whole,
        explore(name, options, start=start, merge_mirrors=True, data=tmp_path) as merged,
    ):
        base, found = whole.puzzle, merged.summary()
        sizes = [record.size for record in records(whole)]
        assert [record.represented for record in records(merged)] == sizes
        assert found["represented"] == sum(sizes) == size
        assert (found["depth"], found["goal_depth"]) == (len(sizes) - 1, whole.summary()["goal_depth"])
        for depth, record in enumerate(records(whole)):
            classes = merged.layer(depth)
            assert digest(orbit_of(base, classes)) == record.digest
            assert (np.unique(base.canonical(whole.layer(depth))) == classes).all()
        orbits = base.orbit_sizes(merged.configurations()[0])
        assert orbits is not None and orbits.max() > 1 and (symmetries % orbits == 0).all()
    for full in (False, True):
        assert verified(tmp_path / merged.name, full).ok


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["half", "quarter"])
def test_the_2x2x2_cube_has_77_802_classes(metric: str, tmp_path: Path) -> None:
    # 3,674,160 configurations up to 48 symmetries.
    with (
        explore("cube2", {"metric": metric}, data=tmp_path) as whole,
        explore("cube2", {"metric": metric}, merge_mirrors=True, data=tmp_path) as merged,
    ):
        assert sum(merged.layer_sizes) == 77_802
        assert [record.represented for record in records(merged)] == whole.layer_sizes
        base = whole.puzzle
        for depth in range(6):
            assert digest(orbit_of(base, merged.layer(depth))) == records(whole)[depth].digest
        for depth, record in enumerate(records(merged)):
            assert digest(np.unique(base.canonical(whole.layer(depth)))) == record.digest


_SEVERAL = [("hanoi", {"discs": "7"}), ("topspin", {"n": "9", "k": "4"})]


@pytest.mark.ci_slow
@usual(1, "keep", ["layers", "frontier", "depths"])
@usual(1, ("name", "options"), _SEVERAL, ids=[name for name, _ in _SEVERAL])
def test_an_interrupted_run_counts_what_it_represents_once(
    name: str, options: dict[str, str], keep: str, tmp_path: Path
) -> None:
    spec, plan = PuzzleSpec(name, options, merge_mirrors=True), {} if keep == "layers" else {"keep": keep}
    straight = make_run(tmp_path / "straight", spec, "explore", plan, Resources())
    assert drive(straight, Resources(), Control(), SilentObserver()).status == "complete"
    # Too little for all keys of a layer, but for the marks of a table: classes of hanoi have numbers.
    least = 2_000_000 if (name, keep) == ("hanoi", "depths") else 16_000
    tuning = Tuning(checkpoint=-1.0, range_commit=-1.0, commit=0.0, least_bytes=least, paced_from=-1.0)
    resources = replace(Resources(memory=1, workers=2, chunk=100), tuning=tuning)
    directory, partial = make_run(tmp_path / "cut", spec, "explore", plan, resources), 0

    sessions = 1
    while drive(directory, resources, StoppingAfter(3 + sessions), SilentObserver()).status != "complete":
        sessions += 1
        with RunStore(directory) as store:
            partial += store.has_partial
    assert sessions > 5
    assert partial or keep != "layers"
    with RunStore(straight) as one, RunStore(directory) as other:
        for mine, its in zip(one.layer_records(), other.layer_records(), strict=True):
            assert (mine.represented, mine.size, mine.digest) == (its.represented, its.size, its.digest)
        assert one.state.figures == other.state.figures
    assert verified(directory).ok


def test_a_record_that_represents_another_number_is_found(tmp_path: Path) -> None:
    with explore("tiles", {"rows": "2", "columns": "2"}, start=".1/32", merge_mirrors=True, data=tmp_path) as run:
        directory = run.store.directory
    with RunStore(directory, writable=True) as store:
        record = store.layer_record(1)
        store.stage_layer(replace(record, represented=record.represented + 1))
        store.commit(store.state)
    faults = verified(directory).faults
    assert any(fault.startswith("layer 1 represents 2 configurations, but 3 in its record") for fault in faults)
    assert any(fault.startswith("the layers represent 13 configurations, but 12 in the state") for fault in faults)


@pytest.mark.ci_slow
def test_a_path_of_classes_leads_to_the_configuration_that_was_named(tmp_path: Path) -> None:
    with explore("cube2", merge_mirrors=True, layers=5, data=tmp_path) as run:
        base = PuzzleSpec("cube2").build()
        for target in ("R U R' F2 U", "F R2 U' R F'", "U2 R F' U"):
            found = run.path(target)
            assert (found.keys[0], found.keys[-1]) == (base.start, base.parse(target))
            for before, after in zip(found.keys, found.keys[1:], strict=False):
                assert after in base.successors(before)
            assert len(found) == run.distance(target)


def test_certificates_of_classes_say_what_they_represent(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"

    def faults() -> list[str]:
        return verify_file(file, True, Resources(), Control(), SilentObserver()).faults

    with explore("topspin", {"n": "7", "k": "3"}, merge_mirrors=True, data=tmp_path / "data") as run:
        export_run(run, file)
        represented = [record.represented for record in records(run)]
    found = read_certificate(file)
    assert found.merge_mirrors
    assert [layer.represented for layer in found.layers] == represented
    assert faults() == []
    last = replace(found.layers[-1], represented=7)
    write_certificate(replace(found, layers=[*found.layers[:-1], last]), file)
    said = f"layer {len(represented) - 1}: its represented is {represented[-1]}, but 7 in the certificate"
    assert faults() == [said]
    write_certificate(replace(found, merge_mirrors=False, identity=""), file)
    assert faults()[0].startswith("layer 1: its size is")
    write_certificate(replace(found, merge_mirrors=False), file)
    assert "its identity is" in faults()[0]


def test_a_start_that_no_symmetry_keeps_has_no_classes() -> None:
    for name, start in (("cube2", "R U F R' U2"), ("tiles", "1.2/345/678"), ("hanoi", "C/B/A/.")):
        spec = PuzzleSpec(name, {} if name != "hanoi" else {"discs": "3"}, start)
        assert name == "tiles" or not spec.build().has_mirrors
    assert not PuzzleSpec("tiles", {"rows": "2", "columns": "3"}).build().has_mirrors


@usual(
    1,
    ("wrong", "why"),
    [
        (lambda keys: keys ^ 1, "maps the moves of"),
        (lambda keys: keys * 0, "maps several configurations to one"),
        (lambda keys: keys[1:], "returns uint"),
    ],
    ids=["moves", "one to one", "length"],
)
def test_a_declared_map_is_checked_on_keys_and_their_neighbours(wrong: Callable[[Keys], Keys], why: str) -> None:
    puzzle = PuzzleSpec("hanoi", {"discs": "4"}).build()
    near = sorted({puzzle.start, *(after for key in puzzle.successors(0) for after in puzzle.successors(key))})
    for mirror in puzzle.mirrors():
        check_map(puzzle, mirror, near)
    with pytest.raises(RefusedError, match=f"the map {why}"):
        check_map(puzzle, wrong, near)
