"""Components found by searches, layer by layer: those found by joins, and each with its depth profile."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, open_run
from hakoiri.coordinator.census.job import CensusVerifier
from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Key
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results import read_labels, read_profile, recorded_components, stage_labels, stage_profile
from tests.support import toy
from tests.support.plain_search import reference_layers
from tests.support.runs import essence, small_slabs, verified

BY_LAYERS = {"by": "layers"}
SPACES = {
    "tiles": PuzzleSpec("tiles", {"rows": "2", "columns": "3"}),
    "sliding": PuzzleSpec("sliding", {}, "AABC/DD.C/E.FF"),
    "mirrors merged": PuzzleSpec("sliding", {}, "AABC/DD.C/E.FF", merge_mirrors=True),
    "hanoi": PuzzleSpec("hanoi", {"pegs": "3", "discs": "4"}),
}


def counted(
    place: Path, spec: PuzzleSpec, plan: dict[str, Any] = BY_LAYERS, resources: Resources | None = None
) -> Path:
    """The directory of a finished census."""
    directory = make_run(place, spec, "census", plan, resources or Resources())
    assert drive(directory, resources or Resources(), Control(), SilentObserver()).status == "complete"
    return directory


def read(directory: Path) -> Run:
    """The finished census."""
    return open_run(directory.name, data=directory.parent)


@pytest.mark.parametrize("name", SPACES)
def test_both_ways_agree_and_profiles_are_those_of_plain_searches(name: str, tmp_path: Path) -> None:
    by_layers, by_joins = counted(tmp_path / "layers", SPACES[name]), counted(tmp_path / "joins", SPACES[name], {})
    with read(by_layers) as one, read(by_joins) as other:
        assert essence(one) == essence(other)
        assert one.store.state.digest == other.store.state.digest
    with RunStore(by_layers) as store, RunStore(by_joins) as joined:
        puzzle = SPACES[name].build()
        for number, record in recorded_components(store).items():
            layers = reference_layers(puzzle.successors, record.representative)
            assert read_profile(store, number) == [len(layer) for layer in layers]
            assert sum(map(len, layers)) == record.size
            assert read_profile(joined, number) is None
    assert verified(by_layers).ok
    assert verified(by_joins).ok


def test_an_interrupted_count_goes_on_with_the_components_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_slabs(monkeypatch, 16)
    spec, sessions = SPACES["sliding"], 0
    directory = make_run(tmp_path, spec, "census", BY_LAYERS, Resources())
    searched = list[Key]()

    class Stopping(SilentObserver):
        """Stops after each component."""

        def progress(self, progress: Progress) -> None:
            if progress.headline.startswith("component "):
                searched.append(int(progress.headline.split()[1].rstrip(",").replace(",", "")))
                control.interrupt("stopped by the test")

    while True:
        control, sessions = Control(), sessions + 1
        resources = replace(Resources(), tuning=Tuning(checkpoint=-1.0))
        if drive(directory, resources, control, Stopping()).status == "complete":
            break
    assert sessions > 3
    assert searched == [*range(1, len(searched) + 1)]
    with read(directory) as one, read(counted(tmp_path / "joins", spec, {})) as other:
        assert essence(one) == essence(other)


@pytest.mark.parametrize("manner", ["memory", "chunks"])
def test_searches_keep_to_memory_and_chunks(manner: str, tmp_path: Path) -> None:
    resources = Resources(memory=1, workers=2) if manner == "memory" else Resources(chunk=3, farm=1)
    with RunStore(counted(tmp_path / "here", SPACES["sliding"])) as store:
        expected = store.state.digest
    with RunStore(counted(tmp_path, SPACES["sliding"], BY_LAYERS, resources)) as store:
        assert store.state.digest == expected


def test_verify_finds_components_and_profiles_that_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    directory = counted(tmp_path, SPACES["sliding"])
    with RunStore(directory, writable=True) as store:
        right = read_profile(store, 0)
        assert right is not None
        stage_profile(store, 0, [*right[:-1], right[-1] + 1])
        store.commit(store.state)
    assert [fault for fault in verified(directory).faults if "component 0: its layers are not those" in fault]
    assert verified(directory, full=False).ok
    with RunStore(directory, writable=True) as store:
        stage_profile(store, 0, right)
        labels = read_labels(store, store.layer_record(0).size)
        places = [int(np.flatnonzero(labels == number)[0]) for number in (0, 1)]
        labels[places] = labels[places[::-1]]
        stage_labels(store, labels)
        store.commit(store.state)
    # What looks at moves finds that, too.
    monkeypatch.setattr(CensusVerifier, "_check_labels", lambda _: None)
    assert [fault for fault in verified(directory).faults if "are not those that searches by layers find" in fault]


def test_moves_that_cannot_be_taken_back_contradict_the_puzzle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configurations lead to one that leads back to neither."""

    class Trap(toy.Toy):
        undirected = True

    monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", "Toy"))
    monkeypatch.setattr(toy, "Toy", Trap)
    spec = PuzzleSpec("toy", {"layout": "u32", "directed": "yes"})
    directory = make_run(tmp_path, spec, "census", BY_LAYERS, Resources())
    with pytest.raises(ContradictionError):
        drive(directory, Resources(), Control(), SilentObserver())


def test_what_cannot_be_found_by_layers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="superpuzz is directed: a search does not find its components"):
        make_run(tmp_path, PuzzleSpec("superpuzz", {"columns": "4"}), "census", BY_LAYERS, Resources())
    with pytest.raises(PuzzleError, match="by 'paths' is not joins or layers"):
        make_run(tmp_path, PuzzleSpec("klotski", {}), "census", {"by": "paths"}, Resources())
