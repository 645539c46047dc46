"""A run on disk: what is committed stays, what is not is gone, one writer at a time, and damage never passes unseen."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import lmdb
import numpy as np
import psutil
import pytest

from hakoiri.coordinator.errors import RunError
from hakoiri.coordinator.runs import catalogue
from hakoiri.coordinator.runs.catalogue import cancel_run, delete_run, list_runs, queue_again, status_of
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import (
    DamagedError,
    DiskFullError,
    FormatError,
    GoneError,
    Hint,
    NotWritableError,
    PoisonedError,
    RunHeldError,
    StorageError,
)
from hakoiri.keys.layout import LAYOUTS, U32, Layout, ints
from hakoiri.storage.engine.environment import Environment, disk_full, refuse_network_file_system, translated
from hakoiri.storage.layers.audit import check_layer, duplicate_fault
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger import ledger, lock
from hakoiri.storage.ledger.ledger import CommitThread, Ledger, create_run
from hakoiri.storage.ledger.lock import RunLock, holder_of, making
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress, State, pack_record, seal
from hakoiri.storage.names import (
    BLOCKS,
    DATA_FILE,
    FORMAT_VERSION,
    HOLDER_FILE,
    LABELS,
    LAYERS,
    META,
    QUEUED_FILE,
    created_at,
    creating,
    number_key,
    queued_runs,
    run_directories,
)
from hakoiri.storage.results import (
    Diameter,
    read_component,
    read_labels,
    read_pairs,
    recorded_components,
    stage_component,
    stage_labels,
)
from tests.support.commands import ROOT
from tests.support.refusals import refused
from tests.support.seeds import usual
from tests.support.stores import audited, commit_layers, manifest, random_layers


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A new run of 32-bit keys."""
    return create_run(tmp_path, manifest(), queued=False)


def script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Another process that runs `text`, its arguments in `sys.argv`."""
    return subprocess.Popen(
        [sys.executable, "-c", dedent(text), *map(str, arguments)],
        cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("queued", [False, True])
def test_a_new_run_is_whole_and_empty(tmp_path: Path, queued: bool) -> None:
    directory = create_run(tmp_path / "not" / "there", manifest(), queued)
    assert run_directories(tmp_path / "not" / "there") == [directory]
    assert list(directory.parent.iterdir()) == [directory]
    assert (directory / QUEUED_FILE).exists() == queued
    assert created_at(directory) > 0
    with RunStore(directory) as store:
        assert store.manifest == manifest()
        assert (store.state.status, store.state.depth, store.layer_records()) == ("queued", -1, [])
        assert store.find(5) is None


def test_what_is_not_committed_is_gone(directory: Path) -> None:
    first, second = random_layers(U32, [5, 5], seed=4)
    commit_layers(directory, [first])
    with RunStore(directory, writable=True) as store:
        store.put_layer(1, second, goals=0)
        assert store.staged
        with pytest.raises(DamagedError, match="layer 1 is missing"):
            store.layer(1)
    with RunStore(directory, writable=True) as store:
        assert not store.staged
        assert [store.find(int(layer[0])) for layer in (first, second)] == [0, None]
        store.put_layer(1, second, goals=0)
        store.discard_staged()
        store.commit(store.state)
    with RunStore(directory) as store:
        assert len(store.names(LAYERS)) == len(store.names(BLOCKS)) == 1


def test_the_state_is_that_of_the_last_commit_by_anybody(directory: Path) -> None:
    process = script(
        """
        import sys
        from dataclasses import replace
        from pathlib import Path
        from hakoiri.storage.ledger.ledger import Ledger
        with Ledger(Path(sys.argv[1]), writable=True) as ledger:
            ledger.request_cancel()
            ledger.commit(replace(ledger.state, reason="from elsewhere"))
        """,
        directory,
    )
    with Ledger(directory) as ledger:
        before = ledger.read_state()
        process.communicate()
        assert not before.reason
        assert ledger.state == before
        assert ledger.read_state().reason == "from elsewhere"
        assert ledger.cancel_requested()
    with Ledger(directory, writable=True) as ledger:
        ledger.commit(replace(ledger.state, status="interrupted"))
        assert ledger.cancel_requested()
        ledger.commit(replace(ledger.state, status="cancelled"))
        assert not ledger.cancel_requested()


KILLED_WRITER = """
    import sys
    from dataclasses import replace
    from pathlib import Path
    import numpy as np
    from hakoiri.storage.layers.store import RunStore
    with RunStore(Path(sys.argv[1]), writable=True) as store:
        for depth in range(10_000):
            store.put_layer(depth, np.arange(50_000, dtype=np.uint32) * 10_000 + depth, goals=0)
            store.commit(replace(store.state, depth=depth))
            print(depth, flush=True)
    """


@pytest.mark.ci_slow
def test_a_killed_writer_leaves_whole_layers_alone(directory: Path) -> None:
    process = script(KILLED_WRITER, directory)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(12)][-1]
    process.kill()
    process.communicate()
    with RunStore(directory, writable=True) as store:
        assert store.state.depth >= told
        for depth in range(store.state.depth + 1):
            assert (store.layer(depth) == np.arange(50_000, dtype=np.uint32) * 10_000 + depth).all()
        depths = {int.from_bytes(name[:4], "big") for name in store.names(BLOCKS) + store.names(LAYERS)}
        assert depths == set(range(store.state.depth + 1))
        store.commit(store.state)


# One at a time


def test_a_run_is_open_once_in_a_process_but_for_readers(directory: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(directory)
    for first, then in ((False, True), (True, False), (True, True)):
        with RunStore(directory, writable=first):
            for again in (directory, link, directory.parent / "." / directory.name):
                with pytest.raises(StorageError, match="already open in this process; close it there first"):
                    RunStore(again, writable=then)
    with RunStore(directory) as one:
        other = RunStore(link)
        other.close()
        other.close()
        assert one.read_state().depth == -1
    store = RunStore(link, writable=True)
    store.close()
    store.close()
    with RunStore(directory) as store:
        assert store.state.depth == -1


HOLDER = """
    import sys
    from pathlib import Path
    from hakoiri.storage.ledger.lock import RunLock
    with RunLock(Path(sys.argv[1])):
        print("held", flush=True)
        sys.stdin.read()
    """


@pytest.fixture
def holder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the run until its standard input ends."""
    with script(HOLDER, directory) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_held_run_is_refused_and_the_holder_named(directory: Path, holder: subprocess.Popen[str]) -> None:
    hints = Hint("wait", directory.name), Hint("cancel", directory.name)
    with refused(RunHeldError, f"process {holder.pid} on host ", *hints):
        RunLock(directory)
    with pytest.raises(RunHeldError, match=str(holder.pid)):
        drive(directory, Resources(), Control(), SilentObserver())
    found = holder_of(directory)
    assert found is not None
    assert found["pid"] == holder.pid
    assert status_of(directory).holder == found


FORKING = """
    import os, signal, sys
    from pathlib import Path
    from hakoiri.storage.ledger.lock import RunLock
    with RunLock(Path(sys.argv[1])):
        if not (child := os.fork()):
            signal.pause()
        print(child, flush=True)
        signal.pause()
    """


def test_a_killed_driver_holds_its_run_no_longer_whatever_its_rules_have_forked(directory: Path) -> None:
    with script(FORKING, directory) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            process.kill()
            process.wait()
            RunLock(directory).release()
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_driver_that_does_not_leave_is_named_by_cancel(
    directory: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused(RunError, rf"process {holder.pid} on host .*, who was told to stop", Hint("status", directory.name)):
        cancel_run(directory, patience=0.0)
    # It may leave just before it is named.
    monkeypatch.setattr(lock, "holder_of", lambda _: None)
    with pytest.raises(RunError, match="who was told to stop"):
        cancel_run(directory, patience=0.0)


def test_cancel_waits_for_a_driver_that_leaves(
    directory: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: holder.communicate(""))
    monkeypatch.setattr(catalogue, "time", clock)
    assert cancel_run(directory) == "cancelled"


def test_a_run_that_is_resumed_while_cancel_waits_stays_queued(
    directory: Path, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page offers Resume as soon as the driver has committed, which is before `cancel` returns."""

    def leave_and_resume(_: float) -> None:
        with Ledger(directory, writable=True) as ledger:
            ledger.commit(ledger.state.become("cancelled"))
        holder.communicate("")
        queue_again(directory)

    monkeypatch.setattr(catalogue, "time", SimpleNamespace(monotonic=time.monotonic, sleep=leave_and_resume))
    assert cancel_run(directory) == "queued"
    assert queued_runs(directory.parent) == [directory]


def test_cancel_of_a_failed_run_leaves_no_request_for_its_next_session(directory: Path) -> None:
    with Ledger(directory, writable=True) as ledger:
        ledger.commit(ledger.state.become("failed", "a reason"))
    assert cancel_run(directory) == "failed"
    with Ledger(directory) as ledger:
        assert (ledger.state.reason, ledger.cancel_requested()) == ("a reason", False)


@pytest.mark.parametrize("end", ["leaves", "is killed"])
def test_a_holder_lets_go_however_it_ends(directory: Path, holder: subprocess.Popen[str], end: str) -> None:
    if end == "leaves":
        holder.communicate("")
    else:
        holder.kill()
        holder.wait()
    assert holder_of(directory) is None
    with RunLock(directory):
        found = holder_of(directory)
        assert found is not None
        assert found["pid"] == os.getpid()
    assert holder_of(directory) is None


def test_two_locks_of_one_process_exclude_each_other(directory: Path) -> None:
    with RunLock(directory), pytest.raises(RunHeldError, match=str(os.getpid())):
        RunLock(directory)


@pytest.mark.parametrize("text", ["", "{", "[1]", "nonsense"])
def test_a_spoiled_holder_file_does_no_harm(directory: Path, text: str) -> None:
    (directory / HOLDER_FILE).write_text(text, encoding="utf-8")
    assert holder_of(directory) is None
    with RunLock(directory):
        assert (holder_of(directory) or {})["pid"] == os.getpid()


def test_an_open_run_does_not_cross_a_fork(directory: Path) -> None:
    process = script(
        """
        import os, sys
        from pathlib import Path
        from hakoiri.errors import StorageError
        from hakoiri.storage.ledger.ledger import Ledger
        ledger = Ledger(Path(sys.argv[1]), writable=True)
        if not os.fork():
            try:
                ledger.read_state()
            except StorageError as error:
                print(error, flush=True)
            ledger.close()
            with Ledger(Path(sys.argv[1])) as own:
                print(own.read_state().status, flush=True)
            os._exit(0)
        os.wait()
        print(ledger.read_state().status)
        ledger.close()
        """,
        directory,
    )
    refusal, *answers = process.communicate()[0].splitlines()
    assert "before a fork" in refusal
    assert answers == ["queued", "queued"]


# A run that is deleted meanwhile


@pytest.mark.parametrize(
    "writing", [partial(Ledger, writable=True), RunLock, cancel_run], ids=["books", "lock", "cancel"]
)
def test_a_deleted_run_is_not_made_again_by_writing_to_it(writing: Callable[[Path], object], directory: Path) -> None:
    """As it is met by whoever found the run a moment ago."""
    delete_run(directory)
    with pytest.raises(GoneError, match=rf"run {directory.name} does not exist any more"):
        writing(directory)
    assert list(directory.parent.iterdir()) == []


def test_a_driver_that_waited_for_the_lock_of_a_deleted_run_leaves(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who deletes lets the lock go when the run has gone; it is not the run's lock any more then."""
    flock = fcntl.flock

    def after_the_deletion(descriptor: int, kind: int) -> None:
        if directory.exists():
            shutil.rmtree(directory)
        flock(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", after_the_deletion)
    with pytest.raises(GoneError):
        drive(directory, Resources(), Control(), SilentObserver())
    assert list(directory.parent.iterdir()) == []


def test_a_run_that_is_deleted_while_runs_are_listed_is_not_listed(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_run(directory.parent, manifest("b-run"), queued=False)

    def seen_before_the_deletion(data: Path) -> list[Path]:
        found = run_directories(data)
        monkeypatch.setattr(catalogue, "run_directories", run_directories)
        delete_run(directory)
        return found

    monkeypatch.setattr(catalogue, "run_directories", seen_before_the_deletion)
    assert [status.run for status in list_runs(directory.parent)] == ["b-run"]


# Failing writes


@pytest.mark.ci_slow
def test_a_full_disk_is_seen_before_anything_is_written(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = random_layers(U32, [10, 200_000], seed=5)
    commit_layers(directory, layers[:1])
    usage = shutil.disk_usage(directory)
    with RunStore(directory, writable=True) as store:
        store.put_layer(1, layers[1], goals=0)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_200_000))
            with refused(DiskFullError, "1 MiB free", Hint("resume", directory.name)):
                store.commit(replace(store.state, depth=1))
            assert not store.poisoned
            assert store.state.depth == store.read_state().depth == 0
        store.commit(replace(store.state, depth=1))
    with RunStore(directory) as store:
        assert (store.layer(1) == layers[1]).all()


LIMITED_WRITER = """
    import json, resource, sys
    from dataclasses import replace
    from pathlib import Path
    import numpy as np
    from hakoiri.storage.names import DATA_FILE
    from hakoiri.storage.layers.store import RunStore

    directory, said = Path(sys.argv[1]), []
    big = np.arange(300_000, dtype=np.uint32) * 9_000

    def attempt(what):
        try:
            what()
            said.append(["done", ""])
        except Exception as error:
            said.append([type(error).__name__, str(error)])

    with RunStore(directory, writable=True) as store:
        store.put_layer(1, big, goals=0)
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = (directory / DATA_FILE).stat().st_size + int(sys.argv[2])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        attempt(lambda: store.commit(replace(store.state, depth=1)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        attempt(lambda: store.commit(replace(store.state, depth=1)))
        attempt(lambda: store.erase(b"labels"))
        said.append([store.poisoned, store.state.depth])
    with RunStore(directory, writable=True) as store:
        said.append([store.layer(0).tolist(), store.state.depth, len(store.names(b"blocks"))])
        store.put_layer(1, big, goals=0)
        attempt(lambda: store.commit(replace(store.state, depth=1)))
        said.append([bool((store.layer(1) == big).all()), store.state.depth])
    print(json.dumps(said))
    """


@usual(1, "room", [0, 4_096, 100_000])
def test_a_failed_write_poisons_and_reopening_heals(directory: Path, room: int) -> None:
    (start,) = random_layers(U32, [9], seed=6)
    commit_layers(directory, [start])
    failed, again, erased, poisoned, reopened, after, final = json.loads(
        script(LIMITED_WRITER, directory, room).communicate()[0]
    )
    assert failed[0] == DiskFullError.__name__
    assert "free some space" in failed[1]
    assert again[0] == PoisonedError.__name__
    assert "open the run again" in again[1]
    assert poisoned == [True, 0]
    assert reopened == [start.tolist(), 0, 1]
    assert after[0] == "done"
    assert final == [True, 1]
    assert erased[0] == PoisonedError.__name__


def test_a_run_of_format_3_is_refused_and_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "a1b2c3-klotski"
    directory.mkdir()
    fields = {"format": 3, "run": directory.name, "mode": "explore", "until_goal": False}
    with lmdb.open(str(directory), map_size=1 << 20, max_dbs=2) as environment:
        meta, _ = environment.open_db(b"meta"), environment.open_db(b"seen")
        with environment.begin(write=True) as transaction:
            transaction.put(b"manifest", pack_record(fields, b"metamanifest"), db=meta)
    before = (directory / "data.mdb").read_bytes()
    for writable in (False, True):
        with pytest.raises(FormatError, match=r"a1b2c3-klotski has storage format 3, expected 4"):
            RunStore(directory, writable)
    with pytest.raises(FormatError, match="format 3"):
        drive(directory, Resources(), Control(), SilentObserver())
    assert (directory / "data.mdb").read_bytes() == before
    (listed,) = list_runs(tmp_path)
    assert (listed.status, "format 3" in str(listed.fault)) == ("another format", True)
    delete_run(directory)
    assert list_runs(tmp_path) == []


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    directory = create_run(tmp_path, manifest(), queued=False, figures={"counted": 1}, limits={"to": 7})
    progress = Progress(3, 7, "numbers", "counting", (1.5, 2.5), work=5, disk=12)
    with RunStore(directory, writable=True) as store:
        assert (store.state.figures, store.limits()) == ({"counted": 1}, {"to": 7})
        state = replace(store.state, status="running", digest="d", progress=progress, figures={"counted": 3})
        store.stage_limits({"to": 9})
        store.commit(state)
        written = store.state
    with RunStore(directory) as store:
        read = store.read_state()
        # A tuple comes back from msgpack as a list.
        assert list(read.progress.seconds_left or ()) == [1.5, 2.5]
        assert replace(read, progress=progress) == written
        assert store.limits() == {"to": 9}


def test_next_steps_are_kept_as_data_and_need_not_be_there(directory: Path) -> None:
    hints = (Hint("verify", directory.name), Hint("repair", directory.name))
    with Ledger(directory, writable=True) as ledger:
        ledger.commit(ledger.state.become("interrupted", "it is damaged", hints))
        assert (ledger.read_state().reason, ledger.read_state().hints) == ("it is damaged", hints)
        older = {name: value for name, value in ledger.state.as_dict().items() if name != "hints"}
        assert State.from_dict(older | {"steps": hints}).hints == hints
        earlier = {name: value for name, value in older.items() if name != "work_log"}
        assert State.from_dict(earlier | {"places": {"hosts": {}}}).work_log == {"hosts": {}}
        later = ledger.state.as_dict() | {"hints": [*hints, ("read the stars", "x", "y")]}
        assert (State.from_dict(older).reason, State.from_dict(older).hints) == ("it is damaged", ())
        assert State.from_dict(later).hints == hints
        ledger.commit(ledger.state.become("running"))
        assert (ledger.read_state().reason, ledger.read_state().hints) == ("", ())


# What a census adds


def component(number: int, size: int, pairs: int) -> ComponentRecord:
    return ComponentRecord(number, size, 7, 4, 1, 2, pairs, 11)


@pytest.mark.parametrize(
    ("count", "layout"), list(zip(cycle([0, 1, 65_536, 200_000, 1]), LAYOUTS.values(), strict=False)), ids=LAYOUTS
)
def test_labels_and_components_survive(tmp_path: Path, count: int, layout: Layout) -> None:
    directory = create_run(tmp_path, manifest(layout=layout.name), queued=False)
    labels = np.random.default_rng(7).integers(0, 2**32, count, dtype=np.uint32)
    keys = layout.pack([1, layout.greatest, 3, 4])
    pairs = keys[np.array([[0, 1], [2, 3]])]
    first = replace(component(0, 5, 2), representative=layout.greatest)
    with RunStore(directory, writable=True) as store:
        stage_labels(store, labels)
        stage_component(store, Diameter(first, pairs))
        stage_component(store, Diameter(component(300, 2, 0), pairs[:0]))
        store.commit(store.state)
    with RunStore(directory) as store:
        assert (read_labels(store, count) == labels).all()
        assert recorded_components(store) == {0: first, 300: component(300, 2, 0)}
        assert read_component(store, 0) == first
        assert read_component(store, 300) == component(300, 2, 0)
        assert read_pairs(store, 0).dtype == layout.dtype
        assert read_pairs(store, 0).tolist() == pairs.tolist()
        assert read_pairs(store, 300).shape == (0, *pairs.shape[1:])
        with pytest.raises(DamagedError, match="component 1 is missing"):
            read_component(store, 1)


def test_entries_in_the_place_of_others_are_damage(directory: Path) -> None:
    slab = seal(b"\0\0\0\1", number_key(1))
    with RunStore(directory, writable=True) as store:
        record = store.put_layer(5, np.array([1, 2], dtype=np.uint32), goals=0)
        store.stage_record(LAYERS, number_key(1), record.as_dict())
        store.commit(replace(store.state, depth=0))
        moved = store.read(LAYERS, number_key(1))
        assert moved
        store.stage(LAYERS, number_key(0), moved)
        store.stage(LABELS, number_key(0), slab)
        store.commit(replace(store.state, depth=0))
        with pytest.raises(DamagedError, match="labels slab 0"):
            read_labels(store, 1)
        with pytest.raises(DamagedError, match="layer 0"):
            store.layer_record(0)


def test_checks_see_wrong_layers(directory: Path) -> None:
    one, other = (np.array(keys, dtype=np.uint32) for keys in ([3, 9, 12], [1, 9, 20]))
    with RunStore(directory, writable=True) as store:
        store.put_layer(0, one, goals=0)
        store.put_layer(1, other, goals=0)
        wrong = store.put_layer(2, one + np.uint32(1), goals=0)
        store.stage_record(LAYERS, number_key(2), replace(wrong, size=4, digest="0" * 32).as_dict())
        store.commit(replace(store.state, depth=2))
        audit = audited(store, 100)
        assert ints(audit.duplicate) == [9]
        assert duplicate_fault(store, audit.duplicate) == "configuration 0x9 stands in layers 0, 1"
        for faults in (list(check_layer(store, 2)), audit.faults):
            assert len(faults) == 2
            assert "3 configurations on disk, 4 in its record" in faults[0]
            assert f"digest {wrong.digest}" in faults[1]
        with pytest.raises(DamagedError, match="layer 2 has 3 configurations on disk, expected 4"):
            store.layer(2)


def test_what_a_kill_left_of_making_a_run_goes_with_the_next(tmp_path: Path) -> None:
    """Not what is so young that its maker may be about to lock it, nor what somebody holds."""
    abandoned, young, held = (creating(tmp_path, "lost") for _ in range(3))
    for left in (abandoned, young, held):
        left.mkdir()
        (left / DATA_FILE).write_bytes(b"half")
    for left in (abandoned, held):
        os.utime(left, (0, 0))
    with making(held):
        create_run(tmp_path, manifest(), queued=False)
    assert set(tmp_path.glob(".creating-*")) == {young, held}
    assert run_directories(tmp_path) == [tmp_path / manifest().run]


def test_a_write_that_came_out_short_is_not_told_as_a_full_disk_for_sure(directory: Path) -> None:
    """LMDB says so of a full disk, a quota and a broken disk alike."""
    failed = lmdb.Error("mdb_txn_commit")
    vars(failed)["code"] = errno.EIO
    words = r"is full or broken \(.*; free some space or look at the system's log"
    with pytest.raises(DiskFullError, match=words), translated(directory):
        raise failed


def test_a_run_that_a_broken_disk_does_not_take_is_not_told_as_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise disk_full(tmp_path / "run", perhaps_broken=True)

    monkeypatch.setattr(ledger, "begin_books", fails)
    with pytest.raises(DiskFullError, match=r"is full or broken \(.*; free some space or .* log and try again"):
        create_run(tmp_path, manifest(), queued=False)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.ENOMEM, "no memory"), MemoryError, "run a-run: .*no memory"),
        (OSError(errno.EIO, "input/output error"), StorageError, "run a-run: .*input/output error"),
        (OSError(errno.ENOENT, "no such file"), StorageError, "a-run"),
        (OSError(errno.EDQUOT, "quota"), DiskFullError, "is full"),
        (OSError(errno.EACCES, "permission"), NotWritableError, "is not writable"),
        (lmdb.Error("mdb_get: MDB_BAD_TXN"), DamagedError, "damaged"),
    ],
    ids=lambda value: getattr(value, "strerror", None),
)
def test_each_error_of_the_system_is_told_as_what_it_is(
    error: Exception, kind: type[Exception], words: str, directory: Path
) -> None:
    with pytest.raises(kind, match=words) as caught, translated(directory):
        raise error
    assert type(caught.value) is kind or kind is StorageError
    assert not isinstance(caught.value, MemoryError) or kind is MemoryError


# File systems on which a run must not lie


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "lustre", "gpfs", "beegfs", "dvs", "wekafs", "NFS"])
def test_network_file_systems_are_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "local"
    mounts = [("/", "ext4"), (str(tmp_path), kind), (str(inner), "ext4")]
    found = [SimpleNamespace(mountpoint=where, fstype=what) for where, what in mounts]
    monkeypatch.setattr(psutil, "disk_partitions", lambda **_: found)
    with pytest.raises(NotWritableError, match=f"network file system \\({kind}\\)") as refusal:
        refuse_network_file_system(tmp_path / "data" / "runs")
    assert refusal.value.hints == (Hint("change", "data"),)
    refuse_network_file_system(inner / "data")
    refuse_network_file_system(Path("/elsewhere"))


# Commits in a thread of their own: what is staged meanwhile is for the next one, and a failure is not lost


def held_up(monkeypatch: pytest.MonkeyPatch, begin: Callable[[], None]) -> None:
    """Have each write call `begin` first."""
    begin_write = Environment.begin_write

    def late(*arguments: Any) -> Callable[[], None]:
        write = begin_write(*arguments)
        return lambda: (begin(), write())[1]

    monkeypatch.setattr(Environment, "begin_write", late)


def test_what_is_staged_during_a_commit_is_for_the_next_one(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, done = threading.Event(), list[str]()

    def wait() -> None:
        done.append(threading.current_thread().name)
        go.wait()

    held_up(monkeypatch, wait)
    with RunStore(directory, writable=True) as store:
        with CommitThread(store) as thread:
            store.stage(META, b"first", b"1")
            thread.begin(lambda: done.append("first"))
            assert not thread.is_worthwhile
            store.stage(META, b"second", b"2")
            assert (store.read(META, b"first"), store.staged) == (None, True)
            go.set()
            thread.begin(lambda: done.append("second"))
            store.stage(META, b"third", b"3")
        assert [store.read(META, name) for name in (b"first", b"second", b"third")] == [b"1", b"2", None]
        assert store.staged
    assert done == ["commit_0", "first", "commit_0", "second"]
    with RunStore(directory) as store:
        assert [store.read(META, name) for name in (b"first", b"second", b"third")] == [b"1", b"2", None]


def test_a_commit_is_worthwhile_if_enough_is_staged(directory: Path) -> None:
    with RunStore(directory, writable=True) as store, CommitThread(store, 10) as thread:
        assert not thread.is_worthwhile
        store.stage(META, b"some", b"0123456789")
        assert thread.is_worthwhile


@pytest.mark.parametrize("meets", ["the next commit", "leaving"])
def test_a_commit_that_fails_is_raised_and_poisons(
    directory: Path, meets: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise DiskFullError("no room")

    held_up(monkeypatch, full)
    done = list[str]()
    with RunStore(directory, writable=True) as store:
        with pytest.raises(DiskFullError, match="no room"), CommitThread(store) as thread:
            store.stage(META, b"first", b"1")
            thread.begin(lambda: done.append("first"))
            if meets == "the next commit":
                thread.begin(lambda: done.append("second"))
        assert (done, store.read(META, b"first")) == ([], None)
        with pytest.raises(PoisonedError, match="no room"):
            store.commit(store.state)


def test_another_error_is_not_hidden_by_that_of_the_commit(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise DiskFullError("no room")

    held_up(monkeypatch, full)
    with RunStore(directory, writable=True) as store, pytest.raises(KeyError), CommitThread(store) as thread:
        thread.begin(lambda: None)
        raise KeyError


def test_another_format_is_refused(tmp_path: Path) -> None:
    directory = create_run(tmp_path, manifest(version=FORMAT_VERSION + 1), queued=False)
    for _ in range(2):
        with pytest.raises(FormatError, match=rf"format {FORMAT_VERSION + 1}, expected {FORMAT_VERSION}"):
            RunStore(directory)
    (listed,) = list_runs(tmp_path)
    assert listed.status == "another format"
    assert "format" in str(listed.fault)


def test_a_full_map_is_no_full_disk(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has reached its limit of 1,024 GiB") as caught, translated(tmp_path):
        raise lmdb.MapFullError("mdb_put: MDB_MAP_FULL")
    assert not isinstance(caught.value, DiskFullError)
