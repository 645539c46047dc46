"""The reader of LMDB's file: it reads what LMDB reads, little of a large file, and damage is an error and no signal."""

import errno
import os
import struct
import subprocess
import sys
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import lmdb
import numpy as np
import psutil
import pytest

from hakoiri.coordinator.runs.catalogue import list_runs
from hakoiri.errors import DamagedError, StorageError
from hakoiri.keys.layout import U64
from hakoiri.storage.engine.environment import Environment, create_environment, translated
from hakoiri.storage.engine.pages import BRANCH, LEAF, DataFile, PageError, PageSet, Snapshot, _nodes_of
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import create_run
from hakoiri.storage.ledger.manifest import LayerRecord
from hakoiri.storage.names import BLOCKS, CHUNKS, DATA_FILE, LAYERS, META, number_key
from tests.storage.large_files import Blocks, add_blocks
from tests.support.commands import ROOT
from tests.support.seeds import usual
from tests.support.stores import manifest

PAGE = 4096


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    """An open empty environment."""
    create_environment(tmp_path)
    with closing(Environment(tmp_path, writable=True)) as opened:
        yield opened


def some_value(rng: Random) -> bytes:
    """Return a value of any kind: on the page, in one overflow page, filling some to the last byte."""
    return rng.randbytes(rng.choice([0, 1, 17, 300, 1_900, 2_100, PAGE - 16, PAGE - 15, 3 * PAGE - 16, 20_000]))


def some_name(rng: Random) -> bytes:
    return rng.choice([b"\0\0\0\1", b"\0\0\0\2", b"\0\0\0\3"]) + rng.randbytes(rng.choice([1, 2, 8, 32]))


@usual(1, "seed", range(4))
def test_it_reads_what_lmdb_reads(seed: int, environment: Environment) -> None:
    rng = Random(seed)
    expected: dict[bytes, dict[bytes, bytes]] = {BLOCKS: {}, META: {}, CHUNKS: {}}
    for _ in range(12):
        for database, known in expected.items():
            fresh = {some_name(rng): some_value(rng) for _ in range(rng.choice([1, 40, 250]))}
            doomed = rng.sample(sorted(known), len(known) * rng.randrange(3) // 4)
            environment.write(
                [(database, name, value) for name, value in fresh.items()], [(database, name) for name in doomed]
            )
            expected[database] = {name: known[name] for name in known if name not in doomed} | fresh
    for database, known in expected.items():
        names = sorted(known)
        assert environment.names(database) == names
        assert environment.entries(database, b"", len(names)) == [(name, known[name]) for name in names]
        for wanted in [*rng.sample(names, 30), *(some_name(rng) for _ in range(30)), b"", b"\xff"]:
            assert environment.get(database, wanted) == known.get(wanted)
            after = [(name, known[name]) for name in names if name >= wanted]
            assert environment.entries(database, wanted, 5) == after[:5]
            mine = [name for name in names if name.startswith(wanted[:4])]
            assert environment.names(database, wanted[:4]) == mine
            around = mine[max(0, bisect_right(mine, wanted) - 1)] if mine else None
            assert environment.name_around(database, wanted, wanted[:4]) == around
    assert environment.names(LAYERS) == []
    assert environment.get(LAYERS, b"x") is environment.name_around(LAYERS, b"x", b"") is None
    environment.close()
    with lmdb.open(str(environment.directory), max_dbs=9) as there, there.begin() as transaction:
        for database, known in expected.items():
            opened = there.open_db(database, transaction)
            assert dict(transaction.cursor(opened)) == known
            pages = transaction.stat(opened)
            taken = pages["branch_pages"] + pages["leaf_pages"] + pages["overflow_pages"]
            with closing(DataFile(os.open(environment.directory / DATA_FILE, os.O_RDONLY))) as file:
                assert file.newest().tree(database).pages == taken


@pytest.mark.parametrize(("flags", "size"), [(0, 20), (0, 70_000), (1, 8)], ids=["here", "long", "elsewhere"])
def test_a_node_that_ends_beyond_its_page_is_damage(flags: int, size: int) -> None:
    """Not one that ends with it. For a value elsewhere the page has a number of 8 bytes."""
    node = struct.pack("=HHHH", size & 0xFFFF, size >> 16, flags, 4) + b"name"
    raw = b"\0" * 16 + node + b"v" * size
    assert _nodes_of(raw, [16], 2, 16) == ([b"name"], [(flags, 28, size)])
    with pytest.raises(struct.error, match="its nodes overlap or leave gaps"):
        _nodes_of(raw[:-1], [16], 2, 16)


@pytest.mark.parametrize("kind", [LEAF, BRANCH])
def test_nodes_that_overlap_or_leave_gaps_are_damage(kind: int) -> None:
    """LMDB would move more bytes than there are, or too few, when it changes the page."""
    nodes = [struct.pack("=HHHH", 2 * (kind == LEAF), 0, 0, len(name)) + name for name in (b"abcd", b"ef")]
    nodes = [node + b"vv" * (kind == LEAF) for node in nodes]
    raw = b"\0" * 16 + nodes[1] + nodes[0]
    places = [16 + len(nodes[1]), 16]
    assert len(_nodes_of(raw, places, kind, 16)[0]) == 2
    spoiled = [(raw[:-1] + b"\0\0\0", places, 16), (raw, places, 14), (raw, [16, 16], 16)]
    for length in (0, 3, 4, 8):
        spoiled.append((raw[:22] + struct.pack("=H", length) + raw[24:], places, 16))
    for changed in spoiled:
        with pytest.raises(struct.error):
            _nodes_of(*changed[:2], kind, changed[2])


def test_a_data_file_has_all_the_pages_that_are_used_or_free(environment: Environment) -> None:
    rng = Random(5)
    for _ in range(6):
        names = environment.names(BLOCKS)
        doomed = [(BLOCKS, name) for name in rng.sample(names, len(names) // 3)]
        environment.write([(BLOCKS, some_name(rng), some_value(rng)) for _ in range(60)], doomed)
    with closing(DataFile(os.open(environment.directory / DATA_FILE, os.O_RDONLY))) as file:
        meta = file.newest().meta
        assert meta.free.pages > 0
        Snapshot(file, meta).check_books()
        with pytest.raises(PageError):
            Snapshot(file, meta._replace(last_page=meta.last_page - 1)).check_books()


def test_free_pages_go_back_to_the_disk(environment: Environment) -> None:
    """The entries stay, for readers beside the writer too, and free pages are used again."""
    rng, path = Random(8), environment.directory / DATA_FILE
    known = {number_key(number): rng.randbytes(50_000) for number in range(200)}
    environment.write([(BLOCKS, name, value) for name, value in known.items()])
    for name in [*known][10:]:
        del known[name]
    environment.write([], [(BLOCKS, number_key(number)) for number in range(10, 200)])
    before, length = path.stat().st_blocks, path.stat().st_size
    environment.release()
    assert path.stat().st_blocks > before * 9 // 10, "the commit before has these pages"
    environment.write([(BLOCKS, number_key(0), known[number_key(0)])])
    environment.release()
    if sys.platform == "linux":
        assert path.stat().st_blocks < before // 5
    for number in range(300, 310):
        assert dict(environment.entries(BLOCKS, b"", 99)) == known
        with closing(DataFile(os.open(path, os.O_RDONLY))) as file:
            file.newest().check_books()
        known[number_key(number)] = rng.randbytes(50_000)
        environment.write([(BLOCKS, number_key(number), known[number_key(number)])])
        environment.release()
    # A commit does not use what the one before it has freed.
    assert path.stat().st_size < length + 200_000


def test_a_page_is_counted_once() -> None:
    rng = Random(6)
    for _ in range(50):
        last, known = rng.randrange(10, 400), set[int]()
        seen = PageSet(last)
        for _ in range(60):
            first, count = rng.randrange(last + 3), rng.choice([1, 1, 1, rng.randrange(1, 70)])
            pages = {*range(first, first + count)}
            if first < 2 or first + count > last + 1:
                with pytest.raises(PageError, match=f"page {first} is not in the file"):
                    seen.add(first, count)
            elif pages & known:
                with pytest.raises(PageError, match=f"page {first} is used twice"):
                    seen.add(first, count)
            else:
                seen.add(first, count)
                known |= pages


def test_a_data_file_of_descriptor_0_is_closed_too(environment: Environment) -> None:
    """A process that was started without an input has no other use for it."""
    kept = os.dup(0)
    try:
        descriptor = os.open(environment.directory / DATA_FILE, os.O_RDONLY)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        DataFile(0).close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(0)
    finally:
        os.dup2(kept, 0)
        os.close(kept)


# A large file

#: The one block that can be read; differences of one take a byte each, so that it is of nearly full size.
WRITTEN, STEP, KEYS = 300_000, 1 << 20, 65_000


@pytest.fixture
def large_run(tmp_path: Path) -> Path:
    """A finished run of 43 GB."""
    directory = create_run(tmp_path, manifest(layout="u64"), queued=False)
    (value,) = code_keys(0, np.arange(KEYS, dtype=np.uint64) + np.uint64(WRITTEN * STEP)).values()
    blocks = Blocks(branches=26, size=len(value), step=STEP)
    index = 0
    for name in blocks.names():
        index = zlib.crc32(name.tobytes(), index)
    with RunStore(directory, writable=True) as store:
        store.stage_layer(LayerRecord(0, blocks.number * KEYS, "0" * 32, 0, blocks.number * blocks.size, index, 1))
        store.commit(replace(store.state, depth=0, status="complete"))
    add_blocks(directory, blocks, {WRITTEN: bytes(value)})
    assert (directory / DATA_FILE).stat().st_size > 40e9
    return directory


@contextmanager
def reads_counted() -> Iterator[list[int]]:
    """The bytes of each read of a file in this process."""
    counts: list[int] = []
    pread = os.pread

    def counted(file: int, count: int, offset: int) -> bytes:
        counts.append(count)
        return pread(file, count, offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", counted)
        yield counts


def test_a_large_run_opens_at_once(large_run: Path) -> None:
    with reads_counted() as counts:
        (listed,) = list_runs(large_run.parent)
        with RunStore(large_run) as store:
            assert [record.depth for record in store.layer_records()] == [0]
    assert listed.status == "complete"
    assert sum(counts) < 100_000


def test_a_question_to_a_large_run_reads_little_of_it(large_run: Path) -> None:
    with RunStore(large_run) as store:
        with reads_counted() as counts:
            first = WRITTEN * STEP
            assert store.slice(0, first + 5, first + 9).tolist() == [first + 5, first + 6, first + 7, first + 8]
            assert store.members(0, U64.pack([first + 70, first + KEYS])).tolist() == [True, False]
        assert sum(counts) < 10 * 16 * PAGE
        with pytest.raises(DamagedError, match="damaged"):
            store.slice(0, first + STEP, first + STEP + 1)


@pytest.mark.slow
def test_a_large_run_takes_another_layer_after_a_look_at_its_trees(large_run: Path) -> None:
    with reads_counted() as counts, RunStore(large_run, writable=True) as store:
        store.put_layer(1, U64.pack([5, 7]), goals=0)
        store.commit(replace(store.state, depth=1))
    assert sum(counts) < (large_run / DATA_FILE).stat().st_size // 1_000
    with RunStore(large_run) as store:
        assert store.layer(1).tolist() == [5, 7]


@pytest.mark.parametrize("replaced", [False, True])
def test_what_was_deleted_stays_in_no_memory(replaced: bool, environment: Environment) -> None:
    """LMDB maps what it deletes, and would have gone on holding it: a directed search deletes all that it merges."""
    names = [number_key(number) for number in range(400)]
    values = [(BLOCKS, name, bytes(60_000)) for name in names]
    environment.write(values)
    environment.write(values if replaced else [], [] if replaced else [(BLOCKS, name) for name in names])
    path = str(environment.directory / DATA_FILE)
    assert sum(part.rss for part in psutil.Process().memory_maps() if part.path == path) < 1_000_000
    environment.write([(BLOCKS, names[0], b"again")])
    assert environment.get(BLOCKS, names[0]) == b"again"


@pytest.mark.parametrize(
    ("error", "code"), [(lmdb.Error, errno.EMFILE), (lmdb.Error, errno.ENFILE), (lmdb.ReadersFullError, -30790)]
)
def test_what_this_process_lacks_for_the_moment_is_no_damage(error: type[Any], code: int, tmp_path: Path) -> None:
    """Nobody is told to delete the run."""
    raised = error("too much")
    # As LMDB's binding sets it.
    raised.code = code
    with pytest.raises(StorageError) as found, translated(tmp_path):
        raise raised
    assert type(found.value) is StorageError
    assert not found.value.hints


def test_a_file_that_is_not_opened_again_after_deleting_is_no_lost_write(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [number_key(number) for number in range(400)]
    environment.write([(BLOCKS, name, b"kept") for name in names])
    with monkeypatch.context() as patch:
        patch.setattr(lmdb, "open", partial(_raise, OSError(errno.EMFILE, "too many open files")))
        environment.write([(BLOCKS, names[0], b"again")], [(BLOCKS, name) for name in names[1:]])
        for _ in range(2):
            with pytest.raises(StorageError, match=r"^run .*too many open files"):
                environment.get(BLOCKS, names[0])
            with pytest.raises(StorageError, match=r"^run .*too many open files"):
                environment.write([(BLOCKS, names[1], b"lost")])
    assert environment.names(BLOCKS) == names[:1]
    assert environment.get(BLOCKS, names[0]) == b"again"


def _raise(error: Exception, *_: Any, **__: Any) -> None:
    raise error


# Damage


def test_a_file_cut_off_while_it_is_read_is_damage_and_no_signal(tmp_path: Path) -> None:
    create_environment(tmp_path)
    with closing(Environment(tmp_path, writable=True)) as environment:
        environment.write([(BLOCKS, number_key(number), bytes(9_000)) for number in range(500)])
        size = (tmp_path / DATA_FILE).stat().st_size
        for kept in (size // 2, 5 * PAGE, 2 * PAGE, PAGE, 0):
            os.truncate(tmp_path / DATA_FILE, kept)
            with pytest.raises(DamagedError, match="damaged"):
                environment.entries(BLOCKS, b"", 500)


@pytest.mark.parametrize("kept", [0, PAGE, 2 * PAGE, 40 * PAGE])
def test_a_file_cut_off_before_a_write_is_damage_and_no_signal(kept: int, tmp_path: Path) -> None:
    """After the pages that LMDB will rely on were checked, as by a thread that writes later."""
    create_environment(tmp_path)
    with closing(Environment(tmp_path, writable=True)) as environment:
        environment.write([(BLOCKS, number_key(number), bytes(9_000)) for number in range(500)])
        write = environment.begin_write([(BLOCKS, number_key(500), b"late")])
        os.truncate(tmp_path / DATA_FILE, kept)
        with pytest.raises(DamagedError, match="the file is truncated"):
            write()


@pytest.mark.parametrize(
    "what",
    [
        "too few pages", "the free list", "the length of a free list", "an overflow page's length",
        "a page in two trees", "a value in two places",
    ],
)  # fmt: skip
def test_nothing_is_written_by_damaged_books(what: str, tmp_path: Path) -> None:
    """LMDB would use pages again that others hold, or abort the process as soon as it lets one go twice."""
    create_environment(tmp_path)
    path = tmp_path / DATA_FILE
    with closing(Environment(tmp_path, writable=True)) as environment:
        for version in range(6):
            values = [(BLOCKS, number_key(number), bytes([version]) * 9_000) for number in range(30)]
            environment.write([*values, (LAYERS, number_key(0), b"")])
    raw = bytearray(path.read_bytes())
    newest = max((0, 1), key=lambda page: struct.unpack_from("=Q", raw, page * PAGE + 144))
    if what == "too few pages":
        struct.pack_into("=Q", raw, newest * PAGE + 136, 40)
    elif "free list" in what:
        (root,) = struct.unpack_from("=Q", raw, newest * PAGE + 40 + 40)
        (place,) = struct.unpack_from("=H", raw, root * PAGE + 16)
        if what == "the free list":
            raw[root * PAGE + place + 16 + 8 + 5] ^= 1
        else:
            struct.pack_into("=H", raw, root * PAGE + place, 0)
    elif what == "a page in two trees":
        (main,) = struct.unpack_from("=Q", raw, newest * PAGE + 40 + 48 + 40)
        blocks, layers = (raw.index(name, main * PAGE) + len(name) for name in (BLOCKS, LAYERS))
        raw[layers + 40 : layers + 48] = raw[blocks + 40 : blocks + 48]
    elif what == "a value in two places":
        with closing(DataFile(os.open(path, os.O_RDONLY))) as file:
            tree = file.newest().tree(BLOCKS)
            leaf = file.newest()._checked(tree.root)
        one, other = (tree.root.number * PAGE + at for _, at, _ in leaf.nodes[:2])
        raw[other : other + 8] = raw[one : one + 8]
    else:
        for page in range(2, len(raw) // PAGE):
            if raw[page * PAGE + 10] == 4:
                struct.pack_into("=I", raw, page * PAGE + 12, 4)
    path.write_bytes(raw)
    with closing(Environment(tmp_path, writable=True)) as environment, pytest.raises(DamagedError):
        for version in range(3):
            environment.write(
                [(name, number_key(number), bytes(version)) for name in (BLOCKS, LAYERS) for number in range(30)]
            )
    assert path.read_bytes() == raw


WRITER = """
    import sys
    from contextlib import closing, contextmanager
    from pathlib import Path
    from random import Random
    from hakoiri.storage.engine.environment import Environment
    rng = Random(1)
    with closing(Environment(Path(sys.argv[1]), writable=True)) as environment:
        number = 0
        while number < 300 or not Path(sys.argv[2]).exists():
            number += 1
            names = [b"a", b"z", *(b"m" + rng.randbytes(2) for _ in range(20))]
            gone = [(b"blocks", name) for name in environment.names(b"blocks", b"m")[: rng.randrange(40)]]
            value = number.to_bytes(4, "big") * rng.choice([1, 500, 5_000])
            environment.write([(b"blocks", name, value) for name in names], gone)
    """


HOLDER = """
    import fcntl, sys
    with open(sys.argv[1], "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2]))
        print("held", flush=True)
        sys.stdin.read()
    """


@contextmanager
def own_number_taken(directory: Path) -> Iterator[None]:
    """Hold what LMDB holds for a process with the number of this one, as in another container with the same volume."""
    argv = [sys.executable, "-c", dedent(HOLDER), str(directory / "lock.mdb"), str(os.getpid())]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate()


def test_a_reader_keeps_nobody_with_its_number_from_working(tmp_path: Path) -> None:
    create_environment(tmp_path)
    with closing(Environment(tmp_path, writable=False)) as reader:
        assert reader.names(META) == []
        with own_number_taken(tmp_path):
            assert reader.names(META) == []


@pytest.mark.ci_slow
@pytest.mark.parametrize("number_taken", [False, True])
def test_a_reader_beside_a_writer_sees_whole_transactions(number_taken: bool, tmp_path: Path) -> None:
    """The first entry and the last are always written together, and pages are used again all the time."""
    create_environment(tmp_path)
    numbers, enough = [], tmp_path / "enough"
    with (
        own_number_taken(tmp_path) if number_taken else nullcontext(),
        subprocess.Popen([sys.executable, "-c", dedent(WRITER), str(tmp_path), str(enough)], cwd=ROOT) as writer,
        closing(Environment(tmp_path, writable=False)) as environment,
    ):
        while writer.poll() is None:
            if entries := environment.entries(BLOCKS, b"", 10_000):
                assert entries[0][1] == entries[-1][1]
                assert all(value == value[:4] * (len(value) // 4) for _, value in entries)
                numbers.append(int.from_bytes(entries[0][1][:4], "big"))
                # However seldom the reader has its turn, the writer goes on until it has seen enough.
                if len(set(numbers)) > 20:
                    enough.touch()
    assert writer.returncode == 0
    assert numbers == sorted(numbers)
    assert len(set(numbers)) > 20
