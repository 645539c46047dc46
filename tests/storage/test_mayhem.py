"""Cause mayhem: a spoiled data file is refused, named or mended; it is never read as other keys, and kills nobody."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, explore
from hakoiri.coordinator.runs.catalogue import list_runs
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError, Hint
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import pack_record
from hakoiri.storage.names import DATA_FILE, LAYERS, number_key
from tests.support.refusals import refused
from tests.support.runs import Notes, verified
from tests.support.seeds import usual
from tests.support.stores import entries_of, read_elsewhere


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, small_starts: dict[int, str]) -> dict[str, Path]:
    """Directories of closed finished runs: a component of 248 configurations, and the usual start's."""
    data = tmp_path_factory.mktemp("finished")
    with explore(start=small_starts[248], data=data) as small, explore(data=data) as usual:
        return {"small": small.store.directory, "usual": usual.store.directory}


@pytest.fixture(scope="module")
def as_they_are(finished: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Return the contents of the same runs, undamaged."""
    return dict(zip(finished, read_elsewhere(list(finished.values())), strict=True))


def copies(original: Path, target: Path, contents: list[bytes]) -> list[Path]:
    """The run once for each content of its data file."""
    made = []
    for number, content in enumerate(contents):
        made.append(shutil.copytree(original, target / f"{number:03}", ignore=shutil.ignore_patterns("*.mdb")))
        (made[-1] / DATA_FILE).write_bytes(content)
    return made


def flip_bytes(content: bytes, rng: np.random.Generator) -> list[bytes]:
    return [spoil(content, [(int(rng.integers(len(content))), int(rng.integers(1, 256)))]) for _ in range(80)]


def flip_page_headers(content: bytes, rng: np.random.Generator) -> list[bytes]:
    """One bit among LMDB's own figures: the first bytes of a page, or of one of the two meta pages."""
    places = [4_096 * int(rng.integers(len(content) // 4_096)) + int(rng.integers(32)) for _ in range(40)]
    places += [4_096 * int(rng.integers(2)) + int(rng.integers(152)) for _ in range(40)]
    return [spoil(content, [(place, 1 << int(rng.integers(8)))]) for place in places]


def flip_many_bytes(content: bytes, rng: np.random.Generator) -> list[bytes]:
    changes = rng.integers((0, 1), (len(content), 256), (16, 40, 2)).tolist()
    return [spoil(content, [(place, change) for place, change in several]) for several in changes]


def truncate(content: bytes, rng: np.random.Generator) -> list[bytes]:
    lengths = rng.integers(0, len(content), 12).tolist() + rng.integers(0, len(content) // 4_096, 3).tolist()
    return [content[:length] for length in lengths]


def overwrite_with_noise(content: bytes, rng: np.random.Generator) -> list[bytes]:
    made = [rng.bytes(len(content)), bytes(len(content)), b"not a database at all"]
    for _ in range(18):
        begin, length = int(rng.integers(len(content))), int(rng.integers(1, 9_000))
        made.append((content[:begin] + rng.bytes(length))[: len(content)] + content[begin + length :])
    return made


def displace_pages(content: bytes, rng: np.random.Generator) -> list[bytes]:
    made = []
    for _ in range(25):
        page, other = (4_096 * int(number) for number in rng.integers(2, len(content) // 4_096, 2))
        made.append(content[:page] + content[other : other + 4_096] + content[page + 4_096 :])
    return made


def spoil(content: bytes, changes: list[tuple[int, int]]) -> bytes:
    spoiled = bytearray(content)
    for place, change in changes:
        spoiled[place] ^= change
    return bytes(spoiled)


Spoiler = Callable[[bytes, np.random.Generator], list[bytes]]
SPOILERS: list[Spoiler] = [
    flip_bytes, flip_page_headers, flip_many_bytes, truncate, overwrite_with_noise, displace_pages,
]  # fmt: skip


@pytest.mark.ci_slow
@usual(
    1,
    ("which", "every"),
    [("small", 6), *(pytest.param(which, 1, marks=pytest.mark.slow) for which in ("small", "usual"))],
)
@usual(1, "spoiler", SPOILERS, ids=lambda spoiler: spoiler.__name__)
def test_damage_is_refused_and_never_read_as_other_keys(
    spoiler: Spoiler, which: str, every: int, finished: dict[str, Path], as_they_are: dict[str, dict[str, Any]],
    tmp_path: Path,
) -> None:  # fmt: skip
    original, sound, rng = finished[which], as_they_are[which], np.random.default_rng(8)
    asked = range(2, len(sound["layers"]), 9 if which == "small" else 45)
    depth_of = {int(rng.choice(sound["layers"][depth][0])): depth for depth in asked}
    spoiled = copies(original, tmp_path, spoiler((original / DATA_FILE).read_bytes(), rng)[::every])
    refused = 0
    for directory, found in zip(spoiled, read_elsewhere(spoiled, list(depth_of)), strict=True):
        assert found.keys() in ({"status", "depth", "layers", "found"}, {"error"}), (directory, found)
        if "error" in found:
            refused += 1
            continue
        # Where the newest of LMDB's two meta pages is lost, the commit before it stands: unfinished, never wrong.
        whole = (found["status"], found["depth"]) == (sound["status"], sound["depth"])
        assert whole or found["status"] == "running"
        for layer, expected in zip(found["layers"], sound["layers"], strict=False):
            assert layer in ("damaged", expected), directory
        for depth, answer in zip(depth_of.values(), found["found"], strict=True):
            assert answer in ("damaged", depth if depth <= found["depth"] else None), directory
        refused += not whole or "damaged" in found["layers"]
    assert refused > 0


@usual(1, "content", [None, b"", b"\0" * 4_096, b"not a database at all"])
def test_a_data_file_that_is_none_is_named(content: bytes | None, finished: dict[str, Path], tmp_path: Path) -> None:
    (spoiled,) = copies(finished["small"], tmp_path, [content or b""])
    sound = shutil.copytree(finished["small"], tmp_path / "sound")
    if content is None:
        (spoiled / DATA_FILE).unlink()
    hints = Hint("verify", spoiled.name), Hint("delete", spoiled.name)
    with refused(DamagedError, f"run {spoiled.name} is damaged ", *hints):
        RunStore(spoiled)
    assert verified(spoiled, full=False).hints == hints
    with pytest.raises(DamagedError):
        drive(spoiled, Resources(), Control(), SilentObserver(), repair=True)
    listed = {status.run: status.status for status in list_runs(tmp_path)}
    assert listed == {sound.name: "complete"} | ({} if content is None else {spoiled.name: "damaged"})


def places_of(content: bytes, wanted: bytes) -> list[int]:
    places, place = [], content.find(wanted)
    while place >= 0:
        places.append(place)
        place = content.find(wanted, place + 1)
    return places


def spoil_entry(directory: Path, entry: bytes, offset: int = -1) -> None:
    """Change one byte of an entry wherever it stands in the data file."""
    content = (directory / DATA_FILE).read_bytes()
    places = places_of(content, entry)
    assert places
    place_in_entry = offset % len(entry)
    (directory / DATA_FILE).write_bytes(spoil(content, [(place + place_in_entry, 4) for place in places]))


def digests_of(run: Run) -> list[tuple[int, str, int]]:
    return [(record.size, record.digest, record.goals) for record in run.layer_records()]


@pytest.fixture
def usual_copy(finished: dict[str, Path], tmp_path: Path) -> Path:
    """A run to spoil."""
    return shutil.copytree(finished["usual"], tmp_path / "copy", ignore=shutil.ignore_patterns("lock.mdb"))


@usual(1, "what", ["blocks", "records"])
@usual(1, "depths", [[57], [0, 1, 5, 166, 167], list(range(168))], ids=str)
def test_damaged_layers_are_named_and_mended(depths: list[int], what: str, usual_copy: Path) -> None:
    with closing(Run(RunStore(usual_copy))) as run:
        expected, digest = digests_of(run), run.store.state.digest
        layers = [run.layer(depth) for depth in depths]
        entries = [
            entries_of(depth, layer)[0][1]
            if what == "blocks"
            else pack_record(run.store.layer_record(depth).as_dict(), LAYERS + number_key(depth))
            for depth, layer in zip(depths, layers, strict=True)
        ]
    for entry in entries:
        spoil_entry(usual_copy, entry)
    with RunStore(usual_copy) as store:
        for depth, layer in zip(depths, layers, strict=True):
            with pytest.raises(DamagedError, match=rf"run copy: .*layer {depth}\b.* is damaged"):
                store.layer(depth)
            assert any(f"layer {depth}" in fault for fault in check_layer(store, depth))
            if what == "blocks":
                with pytest.raises(DamagedError, match=rf"layer {depth}\b"):
                    store.contains(depth, layer[:1])
    notes = Notes()
    state = drive(usual_copy, Resources(workers=2), Control(), notes, repair=True)
    assert (state.status, state.digest) == ("complete", digest)
    mended = [text for text in notes.texts if "again" in text]
    assert len(mended) == len(depths)
    assert all(f"layer {depth} again" in text for depth, text in zip(depths, mended, strict=True))
    with closing(Run(RunStore(usual_copy))) as run:
        assert digests_of(run) == expected
        assert [run.layer(depth).tolist() for depth in depths] == [layer.tolist() for layer in layers]
        touched = [record.depth for record in run.layer_records() if record.session == state.session]
        assert touched == depths


def test_without_repair_a_damaged_run_says_so(usual_copy: Path) -> None:
    with RunStore(usual_copy, writable=True) as store:
        (_, entry), *_ = entries_of(167, store.layer(167))
        store.commit(replace(store.state, status="interrupted"))
    spoil_entry(usual_copy, entry)
    with refused(DamagedError, "layer 167", Hint("verify", usual_copy.name), Hint("repair", usual_copy.name)):
        drive(usual_copy, Resources(), Control(), SilentObserver())
    with RunStore(usual_copy) as store:
        assert store.state.status == "interrupted"
        assert "layer 167" in store.state.reason


@usual(1, "asked", ["its keys", "a key of it", "a path across it"])
@usual(1, "depth", [1, 57, 120, 166])
def test_a_block_gone_astray_is_not_taken_for_absence(depth: int, asked: str, usual_copy: Path) -> None:
    with closing(Run(RunStore(usual_copy))) as run:
        layer, last = run.layer(depth), run.layer(167)
    name, _ = entries_of(depth, layer)[0]
    spoil_entry(usual_copy, name, offset=3)
    with closing(Run(RunStore(usual_copy))) as run, pytest.raises(DamagedError):
        if asked == "a key of it":
            run.distance(f"{int(layer[-1]):#x}")
        elif asked == "a path across it":
            run.path(f"{int(last[0]):#x}")
        else:
            run.layer(depth)


def test_a_name_that_is_no_key_is_damage(usual_copy: Path) -> None:
    """A name may be a byte too long where the length of its node does not tell."""
    with RunStore(usual_copy) as store:
        block = store.coded(57, store.first_keys(57)[:1])[0]
        assert len(store.decode(block)) == block.size
        with pytest.raises(DamagedError, match="its checksum differs"):
            store.decode(block._replace(first=block.first << 8))


@pytest.mark.ci_slow
@usual(1, "what", ["configurations", "labels", "component"])
def test_a_damaged_census_is_counted_again(what: str, whole_run: Run, tmp_path: Path) -> None:
    copy = shutil.copytree(whole_run.store.directory, tmp_path / "copy", ignore=shutil.ignore_patterns("lock.mdb"))
    with closing(Run(RunStore(copy))) as run:
        directory, digest, summary = run.store.directory, run.store.state.digest, run.summary()
        keys, labels = run.configurations()
        record = run.store.read(b"components", number_key(7))
    if what == "configurations":
        spoil_entry(directory, entries_of(0, keys)[0][1], offset=20_000)
    elif what == "labels":
        spoil_entry(directory, labels[:500].astype(">u4").tobytes())
    else:
        assert record is not None
        spoil_entry(directory, record)
    with closing(Run(RunStore(directory))) as run, pytest.raises(DamagedError):
        run.configurations()
        run.components()
    state = drive(directory, Resources(), Control(), SilentObserver(), repair=True)
    assert (state.status, state.digest) == ("complete", digest)
    with closing(Run(RunStore(directory))) as run:
        assert {name for name, value in run.summary().items() if value != summary[name]} <= {"seconds", "sessions"}
        assert len(run.components()) == summary["components"]
