"""Effects outside LMDB come after the commits that make them true, under a double that looks at the disk first."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from campaigns.mayhem.works import WORKS
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs import archive
from hakoiri.coordinator.runs.archive import archive_run, restore_run
from hakoiri.coordinator.runs.catalogue import cancel_run, delete_run
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import DEFAULT, Resources, Tuning
from hakoiri.errors import HakoiriError, NameTakenError, RunHeldError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.files import Given
from hakoiri.storage.engine.pages import META_HEAD, meta_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger import lock
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock, remove_abandoned
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import DATA_FILE, SPILL_FOLDER, run_directories
from hakoiri.worker.layers.step import Partial
from hakoiri.worker.layers.table import DepthsTable
from tests.support.commands import Hakoiri
from tests.support.effects import watched
from tests.support.process_setup import be_impatient, be_starved
from tests.support.runs import StoppingAfter
from tests.support.toy_runs import before_call, driven

TILES = PuzzleSpec("tiles", {"rows": "2", "columns": "3"})
#: Layers that pass through the disk, each half committed as soon as possible; and a table in memory.
_OFTEN = Tuning(least_dropped=0, checkpoint=-1.0, range_commit=-1.0, table_rest=0.0)
STEPS = Resources(memory=1, chunk=500, farm=1, workers=1, tuning=replace(_OFTEN, least_bytes=40_000))
TABLE = Resources(workers=1, tuning=replace(_OFTEN, checkpoint=1e9))

_SCARCE = ("--memory", "1MB", "--chunk", "500", "--farm", "1")
#: Each kind of run, as small as it can be: the commands, and what the double must have seen.
SMALL = {
    "explore": (["run", "hanoi", "-o", "discs=5"], {"holes"}),
    "explore, spilled": (
        ["run", "tiles", "-o", "rows=2", "-o", "columns=4", *_SCARCE],
        {"spill", "holes"},
    ),
    "whole": (["run", "sliding", "--from", "AAB/C../DEE", "--whole"], {"holes"}),
    "depths": (["run", "tiles", "-o", "rows=2", "-o", "columns=3", "--keep", "depths"], {"holes"}),
    "depths, spilled": (
        ["run", "tiles", "-o", "rows=2", "-o", "columns=4", "--keep", "depths", *_SCARCE],
        {"spill", "holes"},
    ),
    "frontier": (["run", "tiles", "-o", "rows=2", "-o", "columns=3", "--keep", "frontier"], {"holes"}),
    "sizes": (["study", "sizes", "pancakes", "--sizes", "3..4"], {"members"}),
    "tree": (["run", "magic-star", "-o", "points=6"], {"holes"}),
}  # fmt: skip


def be_durable() -> None:
    """Have all that is found pass through the disk, and each part of a layer be committed."""
    be_starved()
    vars(DEFAULT).update(checkpoint=-1.0, range_commit=-1.0)


@contextmanager
def tuned(how: object) -> Iterator[None]:
    """With other times and sizes for the length of the block."""
    with patch.dict(vars(DEFAULT)):
        assert callable(how)
        how()
        yield


@pytest.mark.parametrize(
    "work", [pytest.param(work, marks=[pytest.mark.ci_slow] if "spilled" in work else []) for work in SMALL]
)
def test_no_effect_comes_before_its_commit(work: str, hakoiri: Hakoiri) -> None:
    """Made, asked for its goal distances where it has some, archived, deleted, restored, deleted."""
    line, seen = SMALL[work]
    with tuned(be_durable if "spilled" in work else be_impatient), watched() as effects:
        run = hakoiri.ask(*line)["run"]
        if work == "explore":
            hakoiri.ask("hardest", run)
        hakoiri.ask("archive", run, "--to", str(hakoiri.data.parent / "shelf"))
        hakoiri.ask("delete", run, "--yes")
        hakoiri.ask("restore", run, "--from", str(hakoiri.data.parent / "shelf"))
        hakoiri.ask("delete", run, "--yes")
    assert effects.seen.keys() >= {*seen, "deleting"}


@pytest.mark.slow
@pytest.mark.parametrize("work", [name for name in WORKS if name != "own puzzle"])
def test_no_effect_of_a_work_of_the_campaign_comes_before_its_commit(work: str, hakoiri: Hakoiri) -> None:
    chosen = WORKS[work]
    with tuned(chosen.before or (lambda: None)), watched() as effects:
        if chosen.base:
            hakoiri.ask(*chosen.base)
        hakoiri.here(*chosen.line, *chosen.ways)
        hakoiri.ask("delete", "last", "--yes")
    assert effects.seen["deleting"]


# Faults that were found: each has its effect, and what became of it


def test_the_last_commit_may_be_lost_after_the_run_is_complete(tmp_path: Path) -> None:
    """The disk has the meta page of the commit before again: the run is as it was then, and goes on."""
    directory = make_run(tmp_path, TILES, "explore", {}, Resources())
    with watched() as effects:
        assert driven(directory, Resources(workers=1)).status == "complete"
        with Ledger(directory) as ledger:
            whole = ledger.state.digest
    assert effects.seen["holes"]
    with (directory / DATA_FILE).open("r+b") as file:
        size = 4096
        metas = [meta_of(number, os.pread(file.fileno(), META_HEAD.size, number * size)) for number in (0, 1)]
        older, newer = sorted((0, 1), key=lambda number: metas[number].transaction)
        # As LMDB leaves both meta pages in a new file.
        raw = bytearray(os.pread(file.fileno(), size, older * size))
        raw[:8] = newer.to_bytes(8, "little")
        os.pwrite(file.fileno(), raw, newer * size)
    with Ledger(directory) as ledger:
        assert ledger.state.status == "running"
    state = driven(directory, Resources(workers=1))
    assert (state.status, state.digest) == ("complete", whole)


def test_an_archive_that_a_cancellation_meets_can_be_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cancellation is asked for before each file is written, and between any two chunks."""
    directory = make_run(tmp_path / "data", TILES, "explore", {}, STEPS)
    driven(directory, STEPS, StoppingAfter(40))
    refused = 0

    def cancel(*_: object) -> None:
        nonlocal refused
        try:
            cancel_run(directory, patience=0.0)
        except HakoiriError:
            refused += 1

    before_call(monkeypatch, archive._Folder, "write", cancel)
    archive_run(directory, str(tmp_path / "shelf"))
    assert refused == 3
    restore_run(tmp_path / "other", directory.name, str(tmp_path / "shelf"))
    assert driven(tmp_path / "other" / directory.name, STEPS).status == "complete"
    assert cancel_run(directory) == "cancelled"


@pytest.fixture
def family(hakoiri: Hakoiri) -> tuple[Path, Path]:
    """A run, and the one of its goal distances."""
    run = hakoiri.ask("run", "hanoi", "-o", "discs=4")["run"]
    hakoiri.ask("hardest", run)
    (derived,) = (each for each in run_directories(hakoiri.data) if each.name != run)
    return hakoiri.data / run, derived


@pytest.mark.parametrize("held", [0, 1])
def test_a_refused_deletion_has_deleted_nothing(held: int, family: tuple[Path, Path]) -> None:
    with watched() as effects:
        with RunLock(family[held]), pytest.raises(RunHeldError, match=family[held].name):
            delete_run(family[0])
        assert not effects.seen
        assert all((run / DATA_FILE).exists() for run in family)
        assert delete_run(family[0]) == [family[1].name, family[0].name]


def half_made(data: Path) -> Path:
    """The directory of a run that keeps depths and was stopped in a layer that passes through the disk."""
    wide = PuzzleSpec("tiles", {"rows": "2", "columns": "4"})
    directory = make_run(data, wide, "explore", {"keep": "depths"}, Resources())
    for checks in range(5, 400):
        with suppress(StopRun):
            driven(directory, STEPS, StoppingAfter(checks))
        with RunStore(directory) as store:
            assert store.state.status == "interrupted"
            mark = store.read_partial(Partial)
            if mark is not None and mark.spilled.lengths:
                return directory
    raise AssertionError("no layer was spilled")


@pytest.mark.ci_slow
def test_spill_files_stay_while_a_record_names_them(tmp_path: Path) -> None:
    """A session with more memory begins the layer anew, and is killed before its first checkpoint."""
    directory = half_made(tmp_path)

    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with watched() as effects, pytest.raises(Killed), pytest.MonkeyPatch.context() as patching:
        before_call(patching, LayerStep, "run", killed)
        patching.setattr(DepthsTable, "expand", killed)
        driven(directory, TABLE)
    assert effects.seen["spill"]
    assert driven(directory, STEPS).status == "complete"


@pytest.mark.ci_slow
def test_a_layer_whose_files_an_archive_has_left_out_is_begun_again(tmp_path: Path) -> None:
    directory = half_made(tmp_path / "data")
    archive_run(directory, str(tmp_path / "shelf"))
    restore_run(tmp_path / "other", directory.name, str(tmp_path / "shelf"))
    restored = tmp_path / "other" / directory.name
    assert not (restored / SPILL_FOLDER).exists()
    with watched():
        states = [driven(each, STEPS) for each in (restored, directory)]
    assert [state.status for state in states] == ["complete"] * 2
    assert states[0].digest == states[1].digest


def test_state_and_layers_agree_when_a_run_stops_between_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis is away before the first chunk of a layer is sent, and the run is interrupted while it waits."""
    always = Resources(farm=1, workers=1)
    directory, layers = make_run(tmp_path, TILES, "explore", {}, always), iter(range(6))

    def away(*_: object) -> None:
        if next(layers, None) is None:
            raise StopRun("interrupted", "stopped by SIGTERM")

    with watched(), monkeypatch.context() as patching:
        before_call(patching, LayerStep, "_expand_all", away)
        state = driven(directory, always)
    assert (state.status, state.depth) == ("interrupted", 6)
    assert driven(directory, always).status == "complete"


@pytest.mark.parametrize("moves", [0, 1, 2, 3])
def test_a_killed_restoration_leaves_all_runs_or_none(
    moves: int, family: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each of its renames; whoever comes next moves the rest, and removes what is half made."""
    data, shelf = family[0].parent, family[0].parent.parent / "shelf"
    archive_run(family[0], str(shelf))
    delete_run(family[0])

    class Killed(BaseException):
        pass

    renames, rename = iter(range(moves)), Path.rename

    def killed(self: Path, target: Path) -> Path:
        if next(renames, None) is None:
            raise Killed
        return rename(self, target)

    def left(*_: object) -> None:
        """A kill removes nothing."""

    with watched(), monkeypatch.context() as patching, suppress(Killed):
        patching.setattr(Path, "rename", killed)
        if moves < 3:
            patching.setattr(Given, "remove_folder", left)
        restore_run(data, family[0].name, str(shelf))
    monkeypatch.setattr(lock, "_YOUNG_SECONDS", -1)
    monkeypatch.setattr(lock.abandoned, "__defaults__", (-1,))
    remove_abandoned(data)
    there = {each.name for each in run_directories(data)}
    assert there in (set(), {run.name for run in family}) and bool(there) == bool(moves)
    assert not [each for each in data.iterdir() if each.name.startswith((".creating", ".restored"))]
    if moves:
        with pytest.raises(NameTakenError):
            restore_run(data, family[0].name, str(shelf))
    else:
        restore_run(data, family[0].name, str(shelf))


def test_the_double_finds_an_effect_that_comes_too_early(tmp_path: Path) -> None:
    directory = half_made(tmp_path)
    with pytest.raises(AssertionError, match="which the record of the layer under way names"), watched():
        next((directory / SPILL_FOLDER).iterdir()).unlink()
    with pytest.raises(AssertionError, match="goes under its own name"), watched():
        os.rename(directory, directory.with_name("other"))  # noqa: PTH104
        __import__("shutil").rmtree(directory.with_name("other"))


def test_a_commit_whose_state_is_behind_its_layers_is_found(tmp_path: Path) -> None:
    directory = make_run(tmp_path, TILES, "explore", {}, Resources())
    driven(directory, Resources(workers=1))
    with pytest.raises(AssertionError, match="says depth 2"), watched(), RunStore(directory, writable=True) as store:
        store.commit(State("interrupted", depth=2))
