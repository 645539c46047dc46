"""Tables in files: the layers are those of tables in memory, wherever a session is cut off, and damage is found."""

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hakoiri.api import Run, explore, open_run, verify_run
from hakoiri.coordinator.layers import file_maker
from hakoiri.coordinator.layers.file_maker import FileMaker
from hakoiri.coordinator.layers.memory_maker import DepthsMaker, LayersMaker
from hakoiri.coordinator.runs import verify
from hakoiri.coordinator.runs.archive import archive_run, restore_run
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import (
    DamagedError,
    DiskFullError,
    NotKeptError,
    OverBudgetError,
    PuzzleError,
    RunHeldError,
    StorageError,
)
from hakoiri.keys.layout import ints
from hakoiri.puzzles.definitions.stickers import from_permutations, generators
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers import table_file
from hakoiri.storage.layers.depths import BLOCK_KEYS, DepthTable
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.layers.table_file import TableFile, TableShape, checksum
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State, seal
from hakoiri.storage.names import DATA_FILE, TABLE_FILE
from hakoiri.worker.layers import table
from tests.support.plain_search import reference_distances
from tests.support.runs import Countdown, StoppingAfter, essence
from tests.support.toy_runs import before_call, driven

SPEC = PuzzleSpec("pancakes", {"n": "9"})
#: The marks of two blocks of 2**18 numbers fit, a table does not.
FILED = Resources(memory=1, workers=2, tuning=Tuning(least_bytes=400_000, commit=-1.0))
OFTEN = replace(FILED, tuning=replace(FILED.tuning, checkpoint=-1.0, table_rest=0.0))
#: Layers are held for some milliseconds, if there is room.
SOMETIMES = replace(FILED, tuning=replace(FILED.tuning, checkpoint=0.004, table_rest=0.0))
#: All layers after the first are made in bitmaps.
BITMAPS = Tuning(bitmaps_from=1, bitmaps_within=1 << 20, commit=-1.0)
SECTOR = 512


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the table of 362,880 numbers into two blocks."""
    monkeypatch.setattr(table_file, "MOST_UNITS", 1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, NDArray[np.uint8]]:
    """The layers of a run whose table is in memory, and the code of each number."""
    with explore(SPEC.name, SPEC.options, keep="depths", data=tmp_path_factory.mktemp("memory")) as run:
        return essence(run), codes_of(run.store)


def codes_of(store: RunStore) -> NDArray[np.uint8]:
    table = DepthTable(store)
    return np.concatenate([table.block(number) for number in range(362_880 // BLOCK_KEYS + 1)])


class CutError(BaseException):
    """The power is cut."""


def cut(*_: object) -> None:
    raise CutError


class Disk:
    """The disk under the file of a table: at event number `left` (a write, a sync, a commit) the power is cut.

    Any sectors that were written since the last sync may then be as they were before.
    """

    def __init__(self, random: Random, left: int) -> None:
        self.random, self.left, self.events = random, left, 0
        self._unsynced: list[tuple[int, int, bytes]] = []

    def _event(self) -> None:
        self.events += 1
        if self.left <= self.events:
            raise CutError

    def write(self, file: int, begin: int, size: int) -> None:
        """Look before a write."""
        self._unsynced.append((file, begin, os.pread(file, size, begin).ljust(size, b"\0")))
        self._event()

    def sync(self) -> None:
        """Look before a sync; what was written before it is safe after it."""
        self._event()
        self._unsynced.clear()

    def commit(self, *_: object) -> None:
        """Look before a commit."""
        self._event()

    def lose(self, path: Path) -> None:
        """Put back some sectors of what was not synced."""
        with path.open("r+b") as file:
            for _, begin, before in self._unsynced:
                how = self.random.randrange(3)
                for place in range(0, len(before), SECTOR):
                    if how == 1 or (how == 2 and self.random.random() < 0.5):
                        os.pwrite(file.fileno(), before[place : place + SECTOR], begin + place)


@contextmanager
def disk(random: Random, left: int) -> Iterator[Disk]:
    """Run what is in the block on a disk whose power is cut; afterwards the power is on again."""
    found, pwritev, pwrite, fsync = Disk(random, left), os.pwritev, os.pwrite, os.fsync

    def is_table(file: int) -> bool:
        return Path(f"/proc/self/fd/{file}").readlink().name == TABLE_FILE

    def watched(file: int, buffers: list[Any], begin: int) -> int:
        found.write(file, begin, sum(memoryview(each).nbytes for each in buffers))
        return pwritev(file, buffers, begin)

    def watched_page(file: int, raw: Any, begin: int) -> int:
        if is_table(file):
            found.write(file, begin, memoryview(raw).nbytes)
        return pwrite(file, raw, begin)

    def watched_sync(file: int) -> None:
        if is_table(file):
            found.sync()
        fsync(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pwritev", watched)
        patch.setattr(os, "pwrite", watched_page)
        patch.setattr(os, "fsync", watched_sync)
        before_call(patch, Ledger, "_begin_commit", found.commit)
        yield found


def cut_off(directory: Path, random: Random, resources: Resources, left: int) -> bool:
    """Drive a run until the power is cut; return whether it is complete."""
    with disk(random, left) as found, suppress(CutError):
        return bool(driven(directory, resources).status == "complete")
    if (directory / TABLE_FILE).exists():
        found.lose(directory / TABLE_FILE)
    return False


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("HAKOIRI_TABLE_CUTS", "12"))))
def test_no_cut_loses_or_changes_anything(
    seed: int, expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions are cut off at random events, one after another; some layers have checkpoints, some are held.

    There is room to hold no block, or both.
    """
    random, room = Random(seed), 2 * (seed // 3 % 2)
    monkeypatch.setattr(file_maker, "held_within", lambda *_: room * 110_000)
    keep = "depths" if seed % 3 else "frontier"
    directory, sessions = make_run(tmp_path, SPEC, None, {"keep": keep}, FILED), 0
    while not cut_off(directory, random, random.choice([FILED, OFTEN, SOMETIMES]), random.randint(1, 45 - 15 * room)):
        sessions += 1
        assert sessions < 100
    assert sessions
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]
        if keep == "depths":
            np.testing.assert_array_equal(codes_of(run.store), expected[1])
        else:
            assert not (directory / TABLE_FILE).exists()
    assert verify_run("last", tmp_path).faults == []


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("HAKOIRI_TABLE_CUTS", "4"))))
def test_no_cut_loses_what_was_held(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layers of Hanoi are in one block of four, and are held; later ones do not fit beside it."""
    spec, random = PuzzleSpec("hanoi", {"discs": "10"}), Random(seed)
    with explore(spec.name, spec.options, keep="depths", data=tmp_path / "memory") as run:
        wanted = essence(run)
    monkeypatch.setattr(table, "SPARSE", 1)
    monkeypatch.setattr(file_maker, "held_within", lambda *_: (1 + seed % 3) * 110_000)
    monkeypatch.setattr(file_maker, "rows_within", lambda *_: 1)
    monkeypatch.setattr(DepthsMaker, "fits", lambda _: False)
    directory, sessions = make_run(tmp_path / "file", spec, None, {"keep": "depths"}, FILED), 0
    while not cut_off(directory, random, random.choice([FILED, SOMETIMES]), random.randint(10, 40)):
        sessions += 1
        assert sessions < 100
    assert sessions
    with open_run("last", tmp_path / "file") as run:
        assert essence(run) == wanted
    assert verify_run("last", tmp_path / "file", full=True).faults == []


@pytest.mark.parametrize(
    ("maker", "keep", "resources"),
    [
        (FileMaker, "depths", FILED), (FileMaker, "frontier", FILED),
        (DepthsMaker, "depths", replace(FILED, memory=None)), (LayersMaker, "layers", Resources(tuning=BITMAPS)),
    ],
)  # fmt: skip
def test_a_session_that_ends_before_it_has_made_anything_is_idle(
    maker: type, keep: str, resources: Resources, tmp_path: Path
) -> None:
    """Or a run that ends its process each time would never be set aside. A table in memory is committed seldom."""
    directory = make_run(tmp_path, SPEC, None, {"keep": keep}, resources)
    for merge, idle in ((3, False), (1, True), (1, True), (2, maker is DepthsMaker), (1, True)):
        power = Countdown(merge, cut)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(CutError):
            before_call(patch, maker, "_merge", power)
            before_call(patch, Ledger, "_begin_commit", lambda *_, power=power: power.left < 1 and cut())
            driven(directory, resources)
        with Ledger(directory) as ledger:
            assert (ledger.state.status, ledger.state.idle) == ("running", idle)


@pytest.mark.ci_slow
@pytest.mark.parametrize("call", ["pwritev", "posix_fallocate"])
def test_a_full_disk_stops_the_run_and_loses_nothing(
    call: str, expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path
) -> None:
    """At every write, and whenever the file grows; half of a write may be done."""
    directory, stops = make_run(tmp_path, SPEC, None, {"keep": "depths"}, FILED), 0
    made: Callable[..., Any] = getattr(os, call)
    for number in range(1, 200):
        left = iter(range(number))

        def full(file: int, *given: Any, left: Iterator[int] = left) -> Any:
            if next(left, None) is None:
                if call == "pwritev":
                    os.pwrite(file, bytes(given[0][0]), given[1])
                raise OSError(errno.ENOSPC, "No space left on device")
            return made(file, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, call, full)
            try:
                assert driven(directory, FILED).status == "complete"
                break
            except DiskFullError:
                stops += 1
    assert stops > 2
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]
        np.testing.assert_array_equal(codes_of(run.store), expected[1])


@pytest.mark.ci_slow
def test_a_sync_that_fails_once_stops_the_run_and_loses_nothing(
    expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path
) -> None:
    """The file is synced, and its folder."""
    directory, stops, made = make_run(tmp_path, SPEC, None, {"keep": "depths"}, FILED), 0, os.fsync
    for number in range(1, 200):
        left = iter(range(number))

        def broken(file: int, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise OSError(errno.EIO, "Input/output error")
            made(file)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", broken)
            try:
                assert driven(directory, FILED).status == "complete"
                break
            except StorageError as error:
                assert "Input/output error" in str(error)
                stops += 1
    assert stops > 2
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]
        np.testing.assert_array_equal(codes_of(run.store), expected[1])


@pytest.mark.ci_slow
def test_a_stop_in_the_midst_of_a_layer_keeps_what_is_expanded(
    expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path
) -> None:
    """Also for another process that asks for depths meanwhile: it sees what is committed."""
    directory, stops = make_run(tmp_path, SPEC, None, {"keep": "depths"}, FILED), 0
    while driven(directory, OFTEN, StoppingAfter(12)).status != "complete":
        stops += 1
        with RunStore(directory) as left, open_run("last", tmp_path) as run:
            size = sum(record.size for record in left.layer_records())
            assert np.count_nonzero(codes_of(left)) == size
            assert run.distance("2 1 3 4 5 6 7 8 9") == 1 or left.state.depth < 1
        assert verify_run("last", tmp_path).faults == []
    assert stops > 2
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]


@pytest.mark.ci_slow
@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_stop_in_a_pass_ends_it_after_some_seconds(
    seconds: float, expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a layer may be entered then. The run goes on from what was committed."""
    tuning = replace(FILED.tuning, last_pass=seconds)
    directory, control = make_run(tmp_path, SPEC, None, {"keep": "depths"}, FILED), Control()
    write, has_looked, written = TableFile.write, threading.Event(), list[int]()
    check = FileMaker._check_pass

    def looked(maker: FileMaker) -> None:
        if control.interrupted:
            has_looked.set()
        check(maker)

    def written_and_stopped(file: TableFile, head: Any, bitmaps: Any) -> None:
        write(file, head, bitmaps)
        if head["layer"] == 5 and not control.interrupted:
            written.append(int(head["block"]))
            control.interrupt("enough")
            assert has_looked.wait(60)

    with monkeypatch.context() as patch:
        patch.setattr(TableFile, "write", written_and_stopped)
        patch.setattr(FileMaker, "_check_pass", looked)
        state = drive(directory, replace(FILED, workers=1, tuning=tuning), control, SilentObserver())
    assert (state.status, state.depth, len(written)) == ("interrupted", 5 if seconds else 4, 1)
    assert driven(directory, FILED).status == "complete"
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]


@pytest.mark.ci_slow
def test_the_end_may_be_cut_off_again_and_again(expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path) -> None:
    """The last layers are listed and the file is gone; a new file is begun with these."""
    directory = make_run(tmp_path, SPEC, None, {"keep": "frontier"}, FILED)

    def cut(_: Ledger, state: State, *rest: object) -> None:
        if state.status == "complete":
            raise CutError

    with pytest.MonkeyPatch.context() as patch, pytest.raises(CutError):
        before_call(patch, Ledger, "_begin_commit", cut)
        driven(directory, FILED)
    assert not (directory / TABLE_FILE).exists()
    is_filed = set[bool]()
    for left in range(1, 20):
        cut_off(directory, Random(left), OFTEN, left)
        with RunStore(directory) as store:
            is_filed.add(TableShape.of(store) is not None)
            assert not store.kept.table
    assert is_filed == {False, True}
    driven(directory, FILED)
    with open_run("last", tmp_path) as run:
        assert essence(run) == expected[0]


@pytest.mark.ci_slow
def test_an_interrupted_run_is_archived_with_its_table(expected: tuple[Any, NDArray[np.uint8]], tmp_path: Path) -> None:
    directory = half_made(tmp_path / "data")
    archive_run(directory, str(tmp_path / "shelf"))
    restore_run(tmp_path / "other", directory.name, str(tmp_path / "shelf"))
    restored = tmp_path / "other" / directory.name
    assert driven(restored, FILED).status == "complete"
    with open_run("last", tmp_path / "other") as run:
        assert essence(run) == expected[0]
    with pytest.raises(OverBudgetError, match="the marks of 362,880 numbers need"):
        driven(directory, replace(FILED, tuning=replace(FILED.tuning, least_bytes=50_000)))


def half_made(data: Path) -> Path:
    """The directory of a run that was stopped, with its table in a file."""
    directory = make_run(data, SPEC, None, {"keep": "depths"}, FILED)
    while (state := driven(directory, FILED, StoppingAfter(8))).depth < 5:
        pass
    assert state.status == "interrupted"
    return directory


def changed(directory: Path, change: Callable[[TableFile, int], None]) -> None:
    """Change the newest block of a run's table."""
    with RunStore(directory, writable=True) as store:
        shape = TableShape.of(store)
        assert shape is not None
        file = store.open_table(shape, writable=True)
        change(file, int(file.heads["layer"].argmax()))


def with_a_wrong_word(file: TableFile, block: int) -> None:
    os.pwrite(file._file, b"\xff" * 8, int(file._slots[block]) * file.shape.slot_bytes + 4096 + 800)


def without_its_header(file: TableFile, block: int) -> None:
    os.pwrite(file._file, b"\xff" * 8, int(file._slots[block]) * file.shape.slot_bytes)


def with_numbers_beyond(file: TableFile, block: int) -> None:
    """All numbers of the last block are of the last layer, as its sums say; of its slots it counts."""
    last = len(file.heads) - 1
    bitmaps, head = file.read(last, file.empty()), file.heads[last].copy()
    depth = int(file.heads["layer"].max())
    code = 1 + depth % 3
    bitmaps[0, 0], bitmaps[0, 1], bitmaps[0, 2] = -(code & 1) % 2**64, -(code >> 1) % 2**64, 2**64 - 1
    head["block"], head["size"], head["layer"] = last, BLOCK_KEYS, depth
    head["known"] += np.uint64(1)
    file.write(head, bitmaps)
    file.sync()


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_a_wrong_word, "its table is damaged: block . has another checksum"),
        (without_its_header, "its table is damaged: it has .* configurations, expected"),
        (with_numbers_beyond, "its table is damaged: it has .* configurations, expected"),
    ],
)  # fmt: skip
def test_damage_is_found_by_verify(change: Callable[[TableFile, int], None], said: str, tmp_path: Path) -> None:
    directory = make_run(tmp_path, SPEC, None, {"keep": "depths", "layers": 6}, FILED)
    assert driven(directory, FILED).status == "complete"
    assert verify_run("last", tmp_path).faults == []
    changed(directory, change)
    faults = verify_run("last", tmp_path).faults
    assert any(re.search(said, fault) for fault in faults), faults


@pytest.mark.ci_slow
def test_a_forged_table_reaches_no_kernel(tmp_path: Path) -> None:
    """Its last block has numbers that the puzzle has not, with the right sums."""
    directory = half_made(tmp_path)
    changed(directory, with_numbers_beyond)
    with pytest.raises(DamagedError, match=r"its table is damaged: it has .* configurations, expected"):
        driven(directory, FILED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableFile, "require_layers", lambda *_: None)
        with pytest.raises(PuzzleError, match=r"has the configuration .*, but the puzzle has 362,880 numbers"):
            driven(directory, FILED)


def test_a_run_that_has_lost_its_table_takes_the_place_of_no_archive(tmp_path: Path) -> None:
    directory, shelf = half_made(tmp_path / "data"), str(tmp_path / "shelf")
    assert archive_run(directory, shelf).files == 3
    for name, said in ((TABLE_FILE, "has lost its file table; restore it"), (DATA_FILE, "has lost its file data.mdb")):
        away = (directory / name).rename(tmp_path / name)
        with pytest.raises(DamagedError, match=said):
            archive_run(directory, shelf)
        away.rename(directory / name)
    (directory / DATA_FILE).write_bytes(bytes(8192))
    with pytest.raises(DamagedError, match=r"cannot be read; its archive in .* is left as it is"):
        archive_run(directory, shelf)
    restore_run(tmp_path / "again", directory.name, shelf)
    assert driven(tmp_path / "again" / directory.name, FILED).status == "complete"


def test_what_is_read_while_the_run_ends_is_no_damage(tmp_path: Path) -> None:
    """It was killed while it listed its last layers, so none is in LMDB; at its end two are."""
    directory = make_run(tmp_path, SPEC, None, {"keep": "frontier"}, FILED)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(CutError):
        before_call(patch, FileMaker, "_list_last", cut)
        driven(directory, FILED)
    command = [sys.executable, "-m", "hakoiri", "resume", "last", "--data", str(tmp_path), "--json"]
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunHeldError, match="went on while it was verified"):
        before_call(patch, verify, "loaded", lambda *_: subprocess.run(command, check=True, capture_output=True))
        verify_run("last", tmp_path)
    assert verify_run("last", tmp_path).ok


def test_a_backup_by_a_hard_link_is_not_to_be_removed(tmp_path: Path) -> None:
    directory = half_made(tmp_path / "data")
    (tmp_path / "backup").hardlink_to(directory / TABLE_FILE)
    with pytest.raises(DamagedError, match=r"'table' in .* is the same file as another; put a copy in its place"):
        driven(directory, FILED)


def test_a_link_in_place_of_the_table_is_not_followed(tmp_path: Path) -> None:
    directory, other = half_made(tmp_path / "data"), tmp_path / "other"
    other.write_bytes((directory / TABLE_FILE).read_bytes())
    (directory / TABLE_FILE).unlink()
    (directory / TABLE_FILE).symlink_to(other)
    before = other.read_bytes()
    with pytest.raises(DamagedError, match="not a plain file of its own"):
        driven(directory, FILED)
    assert other.read_bytes() == before


def directed(*cycles: str, starts: str = "") -> PuzzleSpec:
    """Permutations of places whose inverses are no moves."""
    text = from_permutations("cycles", generators(cycles), (), 0).checked().text()
    start = starts.partition("\n")[0] or None
    return PuzzleSpec("cycles", {"metric": "given"}, start, definition=text, starts=starts)


#: They are in a file in any memory; the tables of a definition take some.
DIRECTED = Resources(workers=2, tuning=Tuning(commit=-1.0))
OFTEN_ENOUGH = replace(DIRECTED, tuning=replace(DIRECTED.tuning, checkpoint=-1.0, table_rest=0.0))
#: LX: a cycle of all places, and an exchange of two. Wrapped cycles: two that have a place in common.
LX, WRAPPED = ("(0 1 2 3 4)", "(0 1)"), ("(0 1 2)", "(2 3 4)")
IN_LINES = "0 1 2 3 4\n1 0 2 3 4\n4 3 2 1 0"


@pytest.mark.parametrize(
    ("cycles", "starts"), [(LX, ""), (LX, IN_LINES), pytest.param(WRAPPED, "", marks=pytest.mark.ci_slow)]
)
def test_a_directed_space_is_that_of_a_plain_search(cycles: tuple[str, ...], starts: str, tmp_path: Path) -> None:
    """A move may lead to any older layer. The run is stopped again and again, also in the midst of layers."""
    spec = directed(*cycles, starts=starts)
    directory, stops = make_run(tmp_path, spec, None, {"keep": "frontier"}, DIRECTED), 0
    while driven(directory, OFTEN_ENOUGH, StoppingAfter(9)).status != "complete":
        stops += 1
    puzzle = spec.build()
    keys = [puzzle.start] if puzzle.several_starts is None else ints(puzzle.several_starts.parts[0])
    far = [reference_distances(puzzle.successors, key) for key in keys]
    found = {key: min(each[key] for each in far) for key in far[0]}
    with open_run("last", tmp_path) as run:
        assert [record.size for record in run.layer_records()] == [*Counter(sorted(found.values())).values()]
        last = len(run.layer_records()) - 1
        assert {*ints(run.layer(last))} == {key for key, depth in found.items() if depth == last}
        assert run.distance(run.puzzle.render(ints(run.layer(last))[0])) == last
        with pytest.raises(NotKeptError, match="stores no configurations of layer"):
            run.distance(run.puzzle.render(puzzle.successors(puzzle.start)[0]))
        digests = [record.digest for record in run.layer_records()]
    assert stops > 1
    for full in (False, True):
        assert verify_run("last", tmp_path, full=full).faults == []
    with explore_spec(spec, tmp_path / "whole") as whole:
        assert [record.digest for record in whole.layer_records()] == digests


def explore_spec(spec: PuzzleSpec, data: Path) -> Run:
    """Return the finished run that keeps all."""
    driven(make_run(data, spec, None, {}, DIRECTED), DIRECTED)
    return open_run("last", data)


@pytest.mark.ci_slow
def test_a_directed_run_that_loses_its_power_at_any_event_goes_on(tmp_path: Path) -> None:
    """Also at the end, where the older keys are gone and only the figures say that nothing is left."""
    spec, number, is_whole, ends = directed(*WRAPPED), 0, False, 0
    with explore_spec(spec, tmp_path / "whole") as whole:
        expected = essence(whole)
    while not is_whole:
        number += 1
        directory = make_run(tmp_path / str(number), spec, None, {"keep": "frontier"}, DIRECTED)
        is_whole = cut_off(directory, Random(number), OFTEN_ENOUGH, number)
        if not is_whole:
            with RunStore(directory) as left:
                ends += TableShape.of(left) is None and left.state.depth > 0
            assert driven(directory, DIRECTED).status == "complete"
        with open_run("last", tmp_path / str(number)) as run:
            assert essence(run) == expected
        assert not (directory / TABLE_FILE).exists()
        shutil.rmtree(tmp_path / str(number))
    assert number > 30
    assert ends


def test_a_directed_table_that_lacks_older_keys_is_refused(tmp_path: Path) -> None:
    """The layers after it would have them again."""
    directory = make_run(tmp_path, directed(*LX), None, {"keep": "frontier"}, DIRECTED)
    while driven(directory, DIRECTED, StoppingAfter(8)).depth < 5:
        pass

    def with_one_less(file: TableFile, block: int) -> None:
        head = file.heads[block].copy()
        head["known"] -= np.uint64(1)
        os.pwrite(file._file, seal(head.tobytes()), int(file._slots[block]) * file.shape.slot_bytes)

    changed(directory, with_one_less)
    with pytest.raises(DamagedError, match=r"its table is damaged: it has .* configurations, expected"):
        driven(directory, DIRECTED)


def test_directed_runs_that_cannot_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PuzzleError, match="depths modulo 3 do not tell the way back"):
        make_run(tmp_path, directed(*LX), None, {"keep": "depths"}, DIRECTED)
    directory = make_run(tmp_path, directed(*LX), None, {"keep": "frontier"}, DIRECTED)
    monkeypatch.setattr(file_maker, "rows_within", lambda *_: 0)
    with pytest.raises(OverBudgetError, match="the marks of 120 numbers need"):
        driven(directory, DIRECTED)


class Book:
    """The parts of a ledger that a file reads: `sizes` of the committed layers."""

    def __init__(self, directory: Path, *sizes: int) -> None:
        self.directory, self.sizes = directory, [*sizes]

    def read_state(self) -> Any:
        return SimpleNamespace(depth=len(self.sizes) - 1)

    def layer_record(self, depth: int) -> Any:
        return SimpleNamespace(size=self.sizes[depth])

    def damaged(self, what: str) -> DamagedError:
        return DamagedError(what)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A ledger with layer 0, of one configuration in each of two blocks, used without its lock."""
    monkeypatch.setattr(table_file, "require_held", lambda _: None)
    return Book(tmp_path, 2)


def put(file: TableFile, block: int, layer: int, known: int, size: int) -> None:
    """Write a block whose bitmaps are full of the number of its layer."""
    head, bitmaps = np.zeros(1, dtype=table_file.HEADER)[0], file.empty()
    head["block"], head["layer"], head["known"], head["size"] = block, layer, known, size
    bitmaps[:] = layer
    file.write(head, bitmaps)


SHAPE = TableShape(3, 2, 1)


def test_all_that_is_held_is_written_before_a_sync_frees_a_slot(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger has layer 0 only. A block of layer 3 does not count, and is gone for a writer."""
    monkeypatch.setattr(table_file, "_LEAST_SPARE", 1)
    file = TableFile(book, SHAPE, writable=True, new=True)
    for block in range(2):
        put(file, block, 0, 1, 1)
    file.sync()
    file.room = 2
    for block in range(2):
        assert file.can_hold([0, 1])
        head = file.heads[block].copy()
        head["layer"], head["known"] = 3, 2
        file.hold(head, file.empty())
    assert not file.can_hold([2])
    file.flush()
    assert not file.is_holding
    assert file.heads["layer"].tolist() == [3, 3]
    file.close()
    for is_writer in (False, True, False):
        found = TableFile(book, SHAPE, writable=is_writer)
        assert found.heads["layer"].tolist() == [0, 0]
        found.close()
    # As if layer 3 had been committed by another session.
    book.sizes += [0, 0, 2]
    assert TableFile(book, SHAPE).heads["layer"].tolist() == [0, 0]


def test_a_reader_finds_the_blocks_of_layers_that_are_committed_later(book: Any) -> None:
    writer = TableFile(book, SHAPE, writable=True, new=True)
    put(writer, 0, 0, 1, 1)
    put(writer, 1, 0, 1, 1)
    writer.sync()
    reader = TableFile(book, SHAPE)
    put(writer, 0, 1, 4, 3)
    writer.sync()
    book.sizes.append(3)
    reader.follow()
    assert [reader.read_unit(block)[1] for block in (0, 1)] == [1, 0]
    assert writer.committed == reader.committed == 1
    writer.close()
    reader.close()


def test_a_reader_takes_no_older_block_than_the_committed_one(book: Any) -> None:
    """The slot of the last committed layer is in use again, and that of the layer before is not."""
    writer = TableFile(book, SHAPE, writable=True, new=True)
    for layer, known, size in ((0, 1, 1), (1, 3, 2)):
        for block in (0, 1):
            put(writer, block, layer, known, size)
        writer.sync()
    book.sizes.append(4)
    # Checkpoints in layer 2: the slots that the first ones free are taken by the next ones.
    for block, known, size in ((1, 4, 1), (0, 4, 1), (1, 6, 3)):
        put(writer, block, 2, known, size)
        writer.sync()
    reader = TableFile(book, SHAPE)
    raw, layer = reader.read_unit(1)
    assert (layer, int(raw[0, 0])) == (2, 2)
    reader.require_layers()
    writer.close()
    reader.close()


def test_after_a_failed_sync_nothing_more_is_written(book: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = TableFile(book, SHAPE, writable=True, new=True)
    put(writer, 0, 0, 1, 1)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "the disk is broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises((OSError, StorageError), match="the disk is broken"):
            writer.sync()
    for act in (writer.sync, lambda: put(writer, 0, 1, 2, 1)):
        with pytest.raises((OSError, StorageError), match="the disk is broken"):
            act()
    writer.close()


def test_the_checksum_sees_every_word() -> None:
    unit = np.random.default_rng(1).integers(0, 1 << 63, (3, table_file.UNIT_WORDS), dtype=np.uint64)
    sums = {checksum(unit)}
    for place in range(0, unit.size, 101):
        other = unit.copy()
        other.reshape(-1)[place] ^= np.uint64(1 << place % 64)
        sums.add(checksum(other))
    assert len(sums) == 1 + len(range(0, unit.size, 101))
