"""Spill files: what was appended is read again, what the books do not know is cut off, damage never passes for keys."""

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest

from hakoiri.errors import DamagedError, DiskFullError, Hint
from hakoiri.keys.layout import U32, Key, Layout, ints
from hakoiri.storage.layers.blocks import code_keys, decode
from hakoiri.storage.layers.spill import NO_FILES, Spill, SpillFiles
from hakoiri.storage.ledger.manifest import pack_record, unpack_as
from hakoiri.storage.names import SPILL_FOLDER
from tests.support.keys import every_layout
from tests.support.refusals import refused

#: The depth of the layer that is being made.
DEPTH = 7


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the directory of a run."""
    (tmp_path / "a-run").mkdir()
    return tmp_path / "a-run"


def some_keys(layout: Layout, rng: Random, count: int = 40) -> list[Key]:
    return sorted({rng.randrange(layout.greatest + 1) for _ in range(count)} | {0, layout.greatest})


def keys_of(spill: Spill, number: int) -> list[list[Key]]:
    return [ints(decode(block, spill.layout)) for block in spill.read(number)]


def filled(run: Path, layout: Layout, seed: int = 1) -> tuple[Spill, dict[int, list[list[Key]]]]:
    """A spill with some batches in some ranges, and what it holds."""
    spill, rng = Spill(run, layout, DEPTH), Random(seed)
    held: dict[int, list[list[Key]]] = {}
    for number in (3, 0, 3, 11, 0, 3):
        keys = some_keys(layout, rng)
        spill.append(number, code_keys(DEPTH, layout.pack(keys)))
        held.setdefault(number, []).append(keys)
    return spill, held


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / SPILL_FOLDER).glob("*")}


def name_of(number: int | str) -> str:
    return f"{DEPTH}-{number}"


def file_of(run: Path, number: int) -> Path:
    return run / SPILL_FOLDER / name_of(number)


@every_layout
def test_what_is_appended_is_read_again(layout: Layout, run: Path) -> None:
    spill, held = filled(run, layout)
    for number in range(13):
        assert keys_of(spill, number) == held.get(number, [])
        assert spill.keys_in(number) == sum(map(len, held.get(number, [])))
    assert {name_of(name): length for name, length in spill.files.lengths.items()} == {
        name: len(content) for name, content in files(run).items()
    }
    assert spill.stored_bytes == sum(map(len, files(run).values()))


@every_layout
def test_a_long_batch_is_several_frames(layout: Layout, run: Path) -> None:
    keys = some_keys(layout, Random(2), 60_000 // layout.bytes * 4)
    spill = Spill(run, layout, DEPTH)
    spill.append(5, code_keys(DEPTH, layout.pack(keys)))
    batches = keys_of(spill, 5)
    assert len(batches) > 1
    assert [key for batch in batches for key in batch] == keys
    assert spill.keys_in(5) == len(keys)


def test_what_is_synced_can_be_found_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, its name, and the name of the folder, which is made anew for each layer that spills."""
    spill, fsync, synced = Spill(run, U32, DEPTH), os.fsync, set[Path]()

    def noted_fsync(descriptor: int) -> None:
        synced.add(Path(f"/proc/self/fd/{descriptor}").resolve())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    spill.append(2, code_keys(DEPTH, U32.pack([1, 2])))
    spill.sync()
    assert synced == {file_of(run, 2), run / SPILL_FOLDER, run}


@every_layout
def test_another_session_takes_up_what_the_books_know(layout: Layout, run: Path) -> None:
    spill, held = filled(run, layout)
    spill.sync()
    known = unpack_as(SpillFiles, pack_record(asdict(spill.files)), "files")
    assert known == spill.files
    before = files(run)
    # After the books were written: more in a range, a new range, and half a frame where the process died.
    for number in (3, 7):
        spill.append(number, code_keys(DEPTH, layout.pack([1, 2])))
    with open(file_of(run, 0), "ab") as file:
        file.write(b"half a fr")
    taken_up = Spill(run, layout, DEPTH)
    assert keys_of(taken_up, 3) == []
    taken_up.restore(known)
    assert files(run) == before
    assert {number: keys_of(taken_up, number) for number in held} == held
    taken_up.append(3, code_keys(DEPTH, layout.pack([5])))
    assert keys_of(taken_up, 3) == [*held[3], [5]]
    taken_up.restore(NO_FILES)
    assert files(run) == {}


def test_nothing_to_take_up(run: Path) -> None:
    spill = Spill(run, U32, DEPTH)
    spill.restore(NO_FILES)
    assert keys_of(spill, 0) == []


@pytest.mark.parametrize("how", ["gone", "empty", "short"])
def test_files_that_lost_something_are_named(how: str, run: Path) -> None:
    spill, _ = filled(run, U32)
    path = file_of(run, 11)
    if how == "gone":
        path.unlink()
    else:
        os.truncate(path, 0 if how == "empty" else spill.files.lengths["11"] - 1)
    with refused(DamagedError, "spill file 7-11 of run a-run is damaged", Hint("repair", "a-run")):
        Spill(run, U32, DEPTH).restore(spill.files)


@every_layout
def test_no_changed_bit_passes(layout: Layout, run: Path) -> None:
    spill, rng = Spill(run, layout, DEPTH), Random(5)
    batches = [some_keys(layout, rng, 2) for _ in range(2)]
    for keys in batches:
        spill.append(4, code_keys(DEPTH, layout.pack(keys)))
    path = file_of(run, 4)
    content = path.read_bytes()
    places = range(8 * len(content)) if layout is U32 else [*range(160), *rng.sample(range(8 * len(content)), 60)]
    for bit in places:
        spoiled = bytearray(content)
        spoiled[bit // 8] ^= 1 << bit % 8
        path.write_bytes(spoiled)
        with pytest.raises(DamagedError, match="spill file 7-4 of run a-run is damaged"):
            keys_of(spill, 4)
    path.write_bytes(content)
    assert keys_of(spill, 4) == batches


def test_what_a_failed_removal_left_is_no_part_of_any_layer(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the next one nor of the same one begun anew, although every frame of it is sound."""
    left, _ = filled(run, U32)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        left.clear()
    assert len(files(run)) == 3
    for depth in (DEPTH, DEPTH + 1):
        spill = Spill(run, U32, depth)
        assert keys_of(spill, 3) == []
        spill.append(3, code_keys(depth, U32.pack([5, 9])))
        assert keys_of(spill, 3) == [[5, 9]]


@pytest.mark.parametrize("whence", ["another layer", "another range", "another offset"])
def test_a_frame_does_not_pass_for_one_of_another_place(whence: str, run: Path) -> None:
    spill = Spill(run, U32, DEPTH)
    frames = {}
    for depth, number in ((DEPTH, 3), (DEPTH, 4), (DEPTH + 1, 3)):
        Spill(run, U32, depth).append(number, code_keys(depth, U32.pack([5, 9])))
        frames[depth, number] = (run / SPILL_FOLDER / f"{depth}-{number}").read_bytes()
    for _ in range(2):
        spill.append(3, code_keys(DEPTH, U32.pack([5, 9])))
    assert keys_of(spill, 3) == [[5, 9]] * 2
    source = {"another layer": (DEPTH + 1, 3), "another range": (DEPTH, 4), "another offset": (DEPTH, 3)}[whence]
    strange = frames[source]
    second = file_of(run, 3).read_bytes()[len(strange) :]
    file_of(run, 3).write_bytes(strange * 2 if whence == "another offset" else strange + second)
    with pytest.raises(DamagedError, match="spill file 7-3 of run a-run is damaged"):
        keys_of(spill, 3)


def test_a_full_disk_is_seen_before_anything_is_written(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spill, held = filled(run, U32)
    before = files(run)
    usage = shutil.disk_usage(run)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with refused(DiskFullError, "1 MiB free", Hint("resume", "a-run")):
        spill.append(3, code_keys(DEPTH, U32.pack([1, 2])))
    assert files(run) == before
    assert keys_of(spill, 3) == held[3]


def test_ranges_that_are_not_kept_are_removed(run: Path) -> None:
    spill, held = filled(run, U32)
    for end in (12, 11, 1, 0):
        spill.keep(spill.files.beyond(0, end))
        left = [number for number in held if number < end]
        assert sorted(files(run)) == sorted(map(name_of, left))
        assert set(spill.files.lengths) == set(spill.files.keys) == set(map(str, left))
        assert all(keys_of(spill, number) == held[number] for number in left)


def test_clearing_removes_everything(run: Path) -> None:
    spill, _ = filled(run, U32)
    (run / SPILL_FOLDER / "stray").write_text("from elsewhere")
    spill.clear()
    assert list(run.iterdir()) == []
    assert (spill.stored_bytes, spill.files) == (0, NO_FILES)
    spill.append(1, code_keys(DEPTH, U32.pack([9])))
    assert keys_of(spill, 1) == [[9]]
