"""Rows and arrays of a run: durable with the commit that they were staged for, whole after a kill, damage named."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest

from hakoiri.api import Run
from hakoiri.coordinator.runs.certificate import Certificate, LayerDigest, write_certificate
from hakoiri.errors import DamagedError, NotWritableError
from hakoiri.export.tables import write_rows
from hakoiri.guests.nakuron.board import random_board
from hakoiri.guests.nakuron.puzzle import draw_board
from hakoiri.render.files import export_run
from hakoiri.render.films import write_picture
from hakoiri.render.plots import plot_layers
from hakoiri.storage.engine.files import write_file
from hakoiri.storage.ledger.ledger import Ledger, create_run
from hakoiri.storage.names import BEAM, DATABASES, ROWS
from hakoiri.storage.results import DealFigures, ResultRows, forget_damaged_rows, read_arrays, stage_arrays
from tests.support.stores import manifest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return create_run(tmp_path, manifest(), queued=False)


def test_rows_come_back_by_table_in_the_order_of_their_numbers(directory: Path) -> None:
    with Ledger(directory, writable=True) as ledger:
        four, five = ResultRows(ledger, "ranks=4"), ResultRows(ledger, "ranks=5")
        four.stage(300, {"moves": 12, "words": ["é", None]})
        four.stage(2, {"moves": 5})
        five.stage(2, {"moves": 7})
        assert four.numbers() == []
        ledger.commit(ledger.state)
        four.stage(2, {"moves": 6})
        ledger.commit(ledger.state)
    with Ledger(directory) as ledger:
        assert list(ResultRows(ledger, "ranks=4").all(dict[str, Any]).items()) == [
            (2, {"moves": 6}),
            (300, {"moves": 12, "words": ["é", None]}),
        ]
        assert ResultRows(ledger, "ranks=5").read(2) == {"moves": 7}
        assert ResultRows(ledger, "ranks=6").all(dict[str, Any]) == {}


@pytest.mark.ci_slow
def test_what_was_committed_outlives_a_kill(directory: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from hakoiri.storage.ledger.ledger import Ledger\n"
        "from hakoiri.storage.results import ResultRows\n"
        "ledger = Ledger(Path(sys.argv[1]), writable=True); rows = ResultRows(ledger, 'x')\n"
        "for number in range(1_000_000):\n"
        "    rows.stage(number, {'square': number * number}); ledger.commit(ledger.state); print(number, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program, directory], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process, process.stdout as said:
        while int(said.readline()) < 25:
            pass
        os.kill(process.pid, signal.SIGKILL)
        last = [25, *map(int, said.read().split())][-1]
    with Ledger(directory) as ledger:
        rows = ResultRows(ledger, "x").all(dict[str, Any])
    # One more may have been committed and not been told.
    assert list(rows) in ([*range(last + 1)], [*range(last + 2)])
    assert all(row == {"square": number * number} for number, row in rows.items())


def test_a_damaged_row_is_named_and_the_others_are_read(directory: Path) -> None:
    with Ledger(directory, writable=True) as ledger:
        rows = ResultRows(ledger, "x")
        for number in range(3):
            rows.stage(number, {"text": "long"})
        ledger.commit(ledger.state)
    _change(directory, ROWS, b"x/\0\0\0\1", lambda value: value[:-1] + b"!")
    notes: list[str] = []
    with Ledger(directory, writable=True) as ledger:
        rows = ResultRows(ledger, "x")
        assert rows.read(2) == {"text": "long"}
        with pytest.raises(DamagedError, match="row 1 of x is damaged"):
            rows.all(dict[str, Any])
        forget_damaged_rows(ledger, notes.append, "found again")
        assert rows.numbers() == [0, 1, 2]
        ledger.commit(ledger.state)
        assert rows.numbers() == [0, 2]
    (note,) = notes
    assert "row 1 of x is damaged" in note
    assert note.endswith("; found again")


@pytest.mark.parametrize(
    "name", [b"\xe5x/\0\0\0\3", b"x/\0\0\3", b"x/\0\0\0\0\3", b"x"], ids=["text", "short", "long", "none"]
)
def test_a_row_with_a_damaged_name_is_forgotten(name: bytes, directory: Path) -> None:
    notes: list[str] = []
    with Ledger(directory, writable=True) as ledger:
        ResultRows(ledger, "x").stage(2, {"moves": 1})
        ledger.stage(ROWS, name, b"anything")
        ledger.commit(ledger.state)
        with pytest.raises(DamagedError, match=r"row .* is damaged"):
            ResultRows(ledger, "x").all(dict[str, Any])
        forget_damaged_rows(ledger, notes.append, "found again")
        ledger.commit(ledger.state)
        assert name not in ledger.names(ROWS)
    assert len(notes) == 1


def test_a_row_in_the_place_of_another_is_damage(directory: Path) -> None:
    with Ledger(directory, writable=True) as ledger:
        ResultRows(ledger, "x").stage(0, {"moves": 1})
        ledger.commit(ledger.state)
        ledger.stage(ROWS, b"x/\0\0\0\1", ledger.read(ROWS, b"x/\0\0\0\0") or b"")
        ledger.commit(ledger.state)
        with pytest.raises(DamagedError, match="row 1 of x"):
            ResultRows(ledger, "x").read(1)


ARRAYS: dict[str, np.ndarray] = {
    "large": np.arange(700_000, dtype=np.uint64).reshape(-1, 7),
    "words": np.array([[1, 2], [3, 4]], dtype=np.uint32),
    "none": np.empty((0, 3), dtype=np.int8),
}


def test_arrays_are_replaced_as_a_whole(directory: Path) -> None:
    with Ledger(directory, writable=True) as ledger:
        assert read_arrays(ledger) == {}
        for arrays in (ARRAYS, {"words": ARRAYS["words"][:1]}, {}):
            stage_arrays(ledger, arrays)
            ledger.commit(ledger.state)
            found = read_arrays(ledger)
            assert list(found) == list(arrays)
            for name, array in arrays.items():
                assert found[name].dtype == array.dtype
                assert np.array_equal(found[name], array)


@pytest.mark.parametrize("name", [b"large/\0\0\0\1", b"large/\0\0\0\5", b"arrays"])
def test_damaged_and_lost_arrays_are_said(directory: Path, name: bytes) -> None:
    with Ledger(directory, writable=True) as ledger:
        stage_arrays(ledger, ARRAYS)
        ledger.commit(ledger.state)
    for change in (lambda value: bytes([value[0] ^ 1]) + value[1:], None):
        _change(directory, BEAM, name, change)
        with Ledger(directory) as ledger:
            if change is None and name == b"arrays":
                assert read_arrays(ledger) == {}
            else:
                with pytest.raises(DamagedError):
                    read_arrays(ledger)


def _change(directory: Path, database: bytes, name: bytes, change: object) -> None:
    """Rewrite an entry behind the back of the store, or take it away."""
    with lmdb.open(str(directory), max_dbs=len(DATABASES), map_size=1 << 30) as environment:
        opened = environment.open_db(database)
        with environment.begin(write=True) as transaction:
            value = bytes(transaction.get(name, db=opened) or b"")
            if change is None:
                transaction.delete(name, db=opened)
            else:
                transaction.put(name, change(value), db=opened)  # type: ignore[operator]


# Every file that is written for users: whole and durable, or what stood there before stands


Write = Callable[[Run, Path], object]


def some_certificate(_: Run, target: Path) -> None:
    layers = [LayerDigest(depth, "0" * 32) for depth in range(99)]
    write_certificate(Certificate("gap", {}, "deal", DealFigures(1, 2, 3), layers, "0" * 64), target)


WRITERS: dict[str, Write] = {
    "certificate.json": some_certificate,
    "deals.csv": lambda _, target: write_rows(iter([{"size": 3}] * 200), target),
    "star.svg": lambda _, target: write_file(target, "<svg/>" * 999),
    "layers.png": plot_layers,
    "layers.svg": plot_layers,
    "board.png": lambda _, target: write_picture(draw_board(random_board(4, 1, 1)), "nakuron", target),
    "run.csv": export_run,
    "run.npz": export_run,
    "run.graphml": export_run,
}
every_writer = pytest.mark.parametrize("name", WRITERS)


@contextmanager
def files_limited(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patched:
        # Python would leave cut-off bytecode of a module that is imported meanwhile, and the next import would fail.
        patched.setattr(sys, "dont_write_bytecode", True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@every_writer
def test_a_write_that_fails_leaves_what_was_there(name: str, small_run: Run, tmp_path: Path) -> None:
    target = tmp_path / name
    target.write_text("precious")
    with files_limited(500), pytest.raises(NotWritableError, match=f"cannot write {target}: File too large"):
        WRITERS[name](small_run, target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "precious")]


@every_writer
def test_a_file_is_durable_before_it_has_its_name(
    name: str, small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As is the name itself before the writer returns; and a link is no less a link."""
    steps = []
    fsync, rename = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file")
        fsync(descriptor)

    def noted_rename(self: Path, target: Path) -> Path:
        steps.append("name")
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_rename)
    (tmp_path / "there").mkdir()
    (tmp_path / name).symlink_to(tmp_path / "there" / name)
    WRITERS[name](small_run, tmp_path / name)
    assert steps == ["file", "name", "folder"]
    assert (tmp_path / name).is_symlink()
    assert [path.name for path in (tmp_path / "there").iterdir()] == [name]
    assert (tmp_path / "there" / name).stat().st_size > 500
