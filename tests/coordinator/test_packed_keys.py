"""Definitions with more positions than numbers hold: their packed keys are stored and sent like all others."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from hakoiri import Resources, census, explore, verify_run
from hakoiri.coordinator.runs.create import make_run
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.definitions.packed import Packed
from hakoiri.puzzles.definitions.puzzle import Defined
from hakoiri.puzzles.definitions.stickers import from_permutations
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.storage.layers.store import RunStore
from tests.support.geometry import as_tws, rotated
from tests.support.near_hosts import NearHosts
from tests.support.near_hosts import driven as driven_by_hosts
from tests.support.runs import Notes
from tests.support.toy_runs import MANNERS, driven

#: Of the 4x4x4 with 24 different centres, by slices and half turns, as published.
LAYERS = [1, 36, 1_026, 28_836, 808_623]
_FACES = {"U": (0, 1, 0), "R": (1, 0, 0), "F": (0, 0, 1), "D": (0, -1, 0), "L": (-1, 0, 0), "B": (0, 0, -1)}


def cube(size: int) -> dict[str, list[int]]:
    """Return the moves of a cube of even size by single slices, and turns of the whole cube."""
    most = size - 1
    slices_of_all = {*range(-most, size, 2)}
    points = [point for point in product(sorted(slices_of_all), repeat=3) if most in map(abs, point)]
    stickers: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        (point, out) for point in points for out in _FACES.values() if np.dot(point, out) == most
    ]
    places = {sticker: place for place, sticker in enumerate(stickers)}

    def move(axis: tuple[int, ...], slices: set[int]) -> list[int]:
        row = list(range(len(stickers)))
        for place, (point, facing) in enumerate(stickers):
            if int(np.dot(point, axis)) in slices:
                row[places[rotated(axis, 90, point), rotated(axis, 90, facing)]] = place
        return row

    found = {name: move(axis, {most}) for name, axis in _FACES.items()}
    for at in range(1, size // 2):
        found |= {f"{at + 1}{name}": move(axis, {most - 2 * at}) for name, axis in _FACES.items()}
    return found | {name: move(_FACES[face], slices_of_all) for name, face in zip("xyz", "RUF", strict=True)}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("definitions") / "cube4.tws"
    file.write_text(as_tws(from_permutations("cube4", cube(4), [], 1)))
    return str(file)


def sizes_and_digests(directory: Path) -> tuple[list[int], list[str]]:
    with RunStore(directory) as store:
        records = store.layer_records()
        return [record.size for record in records], [record.digest for record in records]


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("size", "layout", "sizes"),
    [
        (4, "u320", LAYERS[:3]),
        (6, "u768", [1, 54, 2_349]),
        pytest.param(10, "u2560", [1, 90, 6_615], marks=pytest.mark.slow),
    ],
)
def test_the_same_layers_in_every_manner(
    size: int, layout: str, sizes: list[int], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cube.tws").write_text(as_tws(from_permutations("cube", cube(size), [], 1)))
    path = str(tmp_path / "cube.tws")
    with explore(path, layers=2, data=tmp_path) as run:
        assert run.puzzle.layout.name == layout
        assert isinstance(run.puzzle, Defined)
        assert isinstance(run.puzzle._numbering, Packed)
        assert run.layer_sizes == sizes
        expected = [record.digest for record in run.store.layer_records()]
        assert run.path("2R U'").moves in (["U'", "2R"], ["2R'", "U"], ["U", "2R'"], ["2R", "U'"])
        assert run.distance("2R U'") == 2
        some = ints(run.store.layer(2)[:: sizes[2] // 3])
        assert all(run.puzzle.parse(run.puzzle.render(key)) == key for key in some)
        assert ints(run.puzzle.expand(run.puzzle.keys(some)).successors) == [
            after for key in some for after in run.puzzle.successors(key)
        ]
        name = run.store.directory.name
    assert verify_run(name, tmp_path).faults == []
    spec = with_own_file(PuzzleSpec(path))
    by_hosts = make_run(tmp_path, spec, "explore", {"layers": 2}, Resources())
    driven_by_hosts(by_hosts, Resources(), Notes())
    with RunStore(by_hosts) as store:
        assert [record.digest for record in store.layer_records()] == expected
    for manner in ("chunks", "starving", "farmed"):
        with monkeypatch.context() as patch:
            resources = MANNERS[manner].take(patch, layout)
            directory = make_run(tmp_path, spec, "explore", {"layers": 2}, resources)
            driven(directory, resources)
        assert sizes_and_digests(directory) == (sizes, expected)


@pytest.mark.ci_slow
def test_merged_turns_represent_all(path: str, tmp_path: Path) -> None:
    with explore(path, layers=2, merge_mirrors=True, data=tmp_path) as run:
        assert [record.represented for record in run.store.layer_records()] == LAYERS[:3]
        assert run.layer_sizes == [1, 6, 66]


@pytest.mark.slow
def test_five_layers(path: str, tmp_path: Path) -> None:
    with explore(path, layers=4, data=tmp_path) as run:
        assert run.layer_sizes == LAYERS


@pytest.mark.parametrize("how", ["depths", "whole", "pattern"])
def test_tables_are_refused_in_one_line(how: str, path: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError) as error:
        match how:
            case "depths":
                explore(path, keep="depths", data=tmp_path)
            case "whole":
                census(path, data=tmp_path)
            case _:
                explore(path, starts=["/".join(["? " * 8, "? " * 24, "? " * 24])], data=tmp_path)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []
