"""Every file that is written for users: whole and durable, or what stood there before stands."""

import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hakoiri.api import Run
from hakoiri.coordinator.runs.certificate import Certificate, LayerDigest, write_certificate
from hakoiri.coordinator.studies.table import write_csv
from hakoiri.errors import NotWritableError
from hakoiri.export.files import export_run
from hakoiri.puzzles.nakuron.board import random_board
from hakoiri.puzzles.nakuron.puzzle import draw_board
from hakoiri.render.films import write_picture
from hakoiri.render.plots import plot_layers
from hakoiri.storage.engine.files import write_file
from hakoiri.worker.studies.deals import DealFigures

Write = Callable[[Run, Path], object]


def some_certificate(_: Run, target: Path) -> None:
    layers = [LayerDigest(depth, "0" * 32) for depth in range(99)]
    write_certificate(Certificate("gap", {}, "deal", DealFigures(1, 2, 3), layers, "0" * 64), target)


WRITERS: dict[str, Write] = {
    "certificate.json": some_certificate,
    "deals.csv": lambda _, target: write_csv((), ("first",) * 200, target),
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
        # Python would keep what is left of the bytecode of a module imported meanwhile, which nobody can import then.
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
