"""A double of what happens outside LMDB's commits: it fails if the ledger on disk still names what goes.

Watched are `os.unlink`, `os.rename`, `os.replace`, `shutil.rmtree`, the holes that a data file gets, and deletions in
Redis. Each is done only after a look at the ledger of the run, as the disk has it. `Effects.wrong` lists what came too
early; `Effects.seen` counts the effects by kind, so that a test can tell that it has watched something.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import redis

from hakoiri.storage.engine.environment import Environment
from hakoiri.storage.engine.pages import DataFile, PageSet, Snapshot
from hakoiri.storage.ledger.manifest import unpack_as
from hakoiri.storage.names import (
    DATA_FILE,
    HOSTS_KEY,
    LAYERS,
    MANIFEST_KEY,
    META,
    PARTIAL_KEY,
    QUEUED_FILE,
    SCRATCH_PREFIX,
    SPILL_FOLDER,
    STATE_KEY,
    TABLE_FILE,
    TABLE_KEY,
)


class Effects:
    """The effects, counted by kind, and those that came too early."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []

    def gone(self, path: Path) -> None:
        """Look before a file or a folder goes."""
        # The outermost: a study of sizes has runs in its own.
        run = next((each for each in (*reversed(path.parents), path) if (each / DATA_FILE).is_file()), None)
        if run is None or run.name.startswith((".", SCRATCH_PREFIX)):
            self._beside(path)
            return
        name = path.relative_to(run).as_posix()
        self.seen[name.partition("/")[0]] += 1
        if name == ".":
            self.wrong.append(f"run {run.name} goes under its own name")
        elif name == QUEUED_FILE and _state(run) in ("queued", "running"):
            self.wrong.append(f"the mark of run {run.name} goes, which is {_state(run)}")
        elif name == TABLE_FILE and _has_table(run):
            self.wrong.append(f"the table's file of run {run.name} goes, which its record names")
        elif name in (DATA_FILE, "created"):
            self.wrong.append(f"{name} of run {run.name} goes")
        elif name.partition("/")[0] == SPILL_FOLDER:
            named = _spilled(run)
            if name == SPILL_FOLDER and named:
                self.wrong.append(f"all spill files go, and the record names {sorted(named)}")
            elif name.partition("/")[2] in named:
                self.wrong.append(f"{name} goes, which the record of the layer under way names")

    def _beside(self, path: Path) -> None:
        """Look before what belongs to a run goes that is not in its directory."""
        if path.suffix == ".json" and (path.with_suffix("") / DATA_FILE).is_file():
            self.wrong.append(f"the certificate of run {path.stem} goes before it")
        if path.parent.name == ".questions" and (path.parents[1] / path.name / DATA_FILE).is_file():
            self.wrong.append(f"the questions to run {path.name} go before it")

    def renamed(self, source: Path, target: Path) -> None:
        """Look before a directory gets another name."""
        if target.name.startswith(".deleting-"):
            self.seen["deleting"] += 1
        elif source.name.startswith(".creating-") and not target.name.startswith("."):
            self.seen["creating"] += 1
            # Runs that are made together must become visible together.
            if others := [each.name for each in source.parent.glob(".creating-*") if each != source]:
                self.wrong.append(f"run {target.name} is visible, and {others} are not")

    def punched(self, file: DataFile, pages: list[int]) -> None:
        """Look before pages become holes: none may be of either of the last two commits."""
        self.seen["holes"] += len(pages)
        newest = file.newest()
        for transaction in (newest.transaction, newest.transaction - 1):
            snapshot = Snapshot(file, file._meta(transaction & 1))
            used = _used(snapshot)
            if lost := [page for page in pages if used[page >> 3] >> (page & 7) & 1]:
                self.wrong.append(f"{len(lost)} pages of the commit {newest.transaction - transaction} before go")

    def committed(self, directory: Path) -> None:
        """Look after a commit: state and layers agree."""
        if directory.name.startswith((".", SCRATCH_PREFIX)):
            return
        with _on_disk(directory) as disk:
            manifest = _record(disk, MANIFEST_KEY)
            if manifest and manifest["mode"] == "explore" and disk.get(disk.tree(META), HOSTS_KEY) is None:
                layers, depth = len([*disk.names(disk.tree(LAYERS))]), _record(disk, STATE_KEY)["depth"]
                if layers != depth + 1:
                    self.wrong.append(f"the state of run {directory.name} says depth {depth}, it has {layers} layers")


@contextmanager
def _on_disk(run: Path) -> Iterator[Snapshot]:
    """The last commit of a run on disk, read beside whoever has it open."""
    with closing(DataFile(os.open(run / DATA_FILE, os.O_RDONLY))) as file:
        yield file.newest()


def _record(disk: Snapshot, name: bytes) -> dict[str, Any]:
    """A record of a run; empty if it is missing."""
    raw = disk.get(disk.tree(META), name)
    return {} if raw is None else unpack_as(dict[str, Any], raw, "record", META + name)


def _state(run: Path) -> str:
    with _on_disk(run) as disk:
        return str(_record(disk, STATE_KEY)["status"])


def _has_table(run: Path) -> bool:
    with _on_disk(run) as disk:
        return bool(_record(disk, TABLE_KEY))


def _spilled(run: Path) -> set[str]:
    """The names of the spill files that a ledger on disk names."""
    with _on_disk(run) as disk:
        found = _record(disk, PARTIAL_KEY)
        return {f"{found['depth']}-{number}" for number in found["spilled"]["lengths"]} if "spilled" in found else set()


def _used(snapshot: Snapshot) -> bytearray:
    """A bit for each page that one state uses."""
    seen = PageSet(snapshot.meta.last_page)
    named = [snapshot._named(page, node) for page, node in snapshot._walk(snapshot.meta.main.root)]
    for tree in (snapshot.meta.free, snapshot.meta.main, *named):
        snapshot._add_pages(tree.root, seen)
    return seen._bits


def _at(path: Any, dir_fd: int | None = None) -> Path:
    """The absolute path of a name below a descriptor."""
    base = Path.cwd() if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").readlink()
    return base / os.fsdecode(path)


@contextmanager
def watched() -> Iterator[Effects]:
    """Watch all effects of this process in the block; on leaving, fail for those that came too early."""
    effects = Effects()
    unlink, rename, replace, rmtree = os.unlink, os.rename, os.replace, shutil.rmtree
    free, write = DataFile.free, Environment._write

    def watched_unlink(path: Any, *, dir_fd: int | None = None) -> None:
        effects.gone(_at(path, dir_fd))
        unlink(path, dir_fd=dir_fd)

    def watched_rename(move: Any, source: Any, target: Any, **given: int) -> None:
        effects.renamed(_at(source, given.get("src_dir_fd")), _at(target, given.get("dst_dir_fd")))
        move(source, target, **given)

    def watched_rmtree(path: Any, *rest: Any, dir_fd: int | None = None, **options: Any) -> None:
        effects.gone(_at(path, dir_fd))
        rmtree(path, *rest, dir_fd=dir_fd, **options)

    def watched_free(self: DataFile, pages: Any) -> None:
        numbers = list(pages)
        effects.punched(self, numbers)
        free(self, numbers)

    def watched_write(self: Environment, *entries: Any) -> None:
        write(self, *entries)
        effects.committed(self.directory)

    with (
        patch.object(os, "unlink", watched_unlink), patch.object(os, "remove", watched_unlink),
        patch.object(os, "rename", partial(watched_rename, rename)),
        patch.object(os, "replace", partial(watched_rename, replace)),
        patch.object(shutil, "rmtree", watched_rmtree), patch.object(DataFile, "free", watched_free),
        patch.object(Environment, "_write", watched_write),
        patch.object(redis.Redis, "unlink", _watched_redis(effects, redis.Redis.unlink)),
    ):  # fmt: skip
        yield effects
    assert not effects.wrong, effects.wrong


def _watched_redis(effects: Effects, unlink: Any) -> Any:
    """Deletions in Redis are only counted: no ledger names a key there."""

    def watched_unlink(self: Any, *names: Any) -> Any:
        effects.seen["redis"] += len(names)
        return unlink(self, *names)

    return watched_unlink
