"""Archives: the files of a run, and of the runs derived from it, in a folder or in a bucket of S3.

    <where>/<run>/files/<run>/data.mdb   and the other files, as they are
    <where>/<run>/archive.json           {"format": 1, "runs": [...], "files": {"<run>/data.mdb": [size, SHA-256], ...}}

IMPORTANT: `archive.json` is written last, when all files are durable: what lacks it is no archive. A run is restored
under a name that no command takes for a run, and renamed when all checksums are right.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Literal, NamedTuple, cast

import msgspec

from hakoiri.coordinator.errors import RunError, UnknownRunError
from hakoiri.coordinator.runs.catalogue import base_of, belonging_to, free_name, keepers_of
from hakoiri.errors import DamagedError, HakoiriError, Hint, StorageError
from hakoiri.storage.engine.environment import require_free, translated
from hakoiri.storage.engine.files import flush, open_inside, replaced
from hakoiri.storage.ledger.lock import RunLock, making
from hakoiri.storage.names import HOLDER_FILE, LOCK_FILE, QUEUED_FILE, SCRATCH_PREFIX, creating

_INDEX, _CHUNK_BYTES = "archive.json", 1 << 20
#: Made anew where they are needed.
_LEFT_OUT = (LOCK_FILE, HOLDER_FILE, QUEUED_FILE)


class _ArchiveIndex(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal[1]
    runs: list[str]
    files: dict[str, tuple[int, str]]


class Archived(NamedTuple):
    """A run that was archived or restored: all its runs, the number of files, and their size in bytes."""

    runs: list[str]
    files: int
    bytes: int


class _Folder:
    def __init__(self, where: str, run: str) -> None:
        self._place = Path(where).expanduser() / run

    def write(self, name: str, source: IO[bytes]) -> None:
        target = self._place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced(target) as part, part.open("wb") as file:
            shutil.copyfileobj(source, file, _CHUNK_BYTES)
        for folder in (target.parent, *target.parent.parents)[: len(PurePosixPath(name).parts) + 2]:
            flush(folder)

    def read(self, name: str) -> Iterator[bytes]:
        with (self._place / name).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk


class _Bucket:
    def __init__(self, where: str, run: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ModuleNotFoundError as error:
            raise HakoiriError(f"{error.name} is not installed; give: pip install 'hakoiri[s3]'") from error
        # Keys and the address of the server are in the environment, as for every program with S3.
        self._obstore, self._store = obstore, from_url(f"{where.rstrip('/')}/{run}")

    def write(self, name: str, source: IO[bytes]) -> None:
        self._obstore.put(self._store, name, source, chunk_size=8 * _CHUNK_BYTES)

    def read(self, name: str) -> Iterator[bytes]:
        yield from map(bytes, self._obstore.get(self._store, name).stream(_CHUNK_BYTES))


@contextmanager
def _opened(where: str, run: str) -> Iterator[_Folder | _Bucket]:
    """Yield the place of an archive; errors in the block name it."""
    try:
        yield _Bucket(where, run) if where.startswith("s3://") else _Folder(where, run)
    except HakoiriError:
        raise
    except Exception as error:  # obstore has exceptions of its own.
        if not isinstance(error, OSError) and not type(error).__module__.startswith("obstore"):
            raise
        raise StorageError(f"{where}: {str(error).strip().splitlines()[0]}") from error


def archive_run(directory: Path, where: str) -> Archived:
    """Copy a run, with those derived from it, to a folder or to ``s3://BUCKET/PREFIX``; return what was copied.

    Raises `RunHeldError` while a process drives one of them, and `RunError` if there is an archive of the run already,
    if hosts keep its layers, or if it is derived itself.
    """
    if base := base_of(directory):
        raise RunError(f"run {directory.name} belongs to run {base}; archive {base}, which includes it")
    runs, files = [directory, *belonging_to(directory)], dict[str, tuple[int, str]]()
    if hosts := sorted({host for run in runs for host in keepers_of(run)}):
        raise RunError(f"{', '.join(hosts)} keep layers of run {directory.name}", Hint("collect", directory.name))
    with _opened(where, directory.name) as place, ExitStack() as held:
        if _index(place) is not None:
            raise RunError(f"there is an archive of run {directory.name} in {where} already; choose another place")
        for run in runs:
            held.enter_context(RunLock(run))
        for name, run, inner in _files_of(runs):
            with translated(run), open_inside(run, inner, "rb") as file:
                digest = hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()
                files[name] = file.tell(), digest
                file.seek(0)
                place.write(f"files/{name}", file)
        index = msgspec.json.encode(_ArchiveIndex(1, [run.name for run in runs], files))
        place.write(_INDEX, BytesIO(index))
    return Archived([run.name for run in runs], len(files), sum(size for size, _ in files.values()))


def restore_run(data: Path, name: str, where: str) -> Archived:
    """Restore an archived run, and those derived from it, by their names; all of them if all checksums are right.

    Raises `NameTakenError` if there is a run of such a name, `DamagedError` for a file that differs or is missing.
    """
    with _opened(where, name) as place, ExitStack() as building:
        if (index := _index(place)) is None:
            raise UnknownRunError(f"there is no whole archive of run {name} in {where}")
        data.mkdir(parents=True, exist_ok=True)
        being_made = {run: creating(data, free_name(data, run)) for run in index.runs}
        require_free(data, sum(size for size, _ in index.files.values()))
        for folder in being_made.values():
            folder.mkdir()
            building.callback(shutil.rmtree, folder, ignore_errors=True)
            building.enter_context(making(folder))
        for file, expected in index.files.items():
            run, *inner = PurePosixPath(file).parts
            if run not in being_made or not inner or ".." in inner:
                raise DamagedError(f"the archive of run {name} has a file {file!r}, which is of none of its runs")
            target = being_made[run].joinpath(*inner)
            target.parent.mkdir(exist_ok=True)
            if (found := _copied(place.read(f"files/{file}"), target)) != expected:
                raise DamagedError(f"{file} in {where} is damaged: SHA-256 {expected[1]} expected, {found[1]} found")
            flush(target.parent)
        for run, folder in being_made.items():
            folder.rename(data / run)
        flush(data)
    return Archived(index.runs, len(index.files), sum(size for size, _ in index.files.values()))


def _index(place: _Folder | _Bucket) -> _ArchiveIndex | None:
    """Return the index of an archive; ``None`` without one, `DamagedError` if it cannot be read."""
    try:
        return msgspec.json.decode(b"".join(place.read(_INDEX)), type=_ArchiveIndex)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DamagedError(f"{_INDEX} is damaged, or of another format: {error}") from error


def _files_of(runs: Iterable[Path]) -> Iterator[tuple[str, Path, str]]:
    """Yield the name in the archive of each file of the runs, the run, and its name there."""
    for run in runs:
        for file in sorted(run.rglob("*")):
            inner = file.relative_to(run)
            if not file.is_dir() and inner.name not in _LEFT_OUT and not inner.parts[0].startswith(SCRATCH_PREFIX):
                yield f"{run.name}/{inner.as_posix()}", run, str(inner)


def _copied(chunks: Iterable[bytes], target: Path) -> tuple[int, str]:
    """Write a file, durably, with holes where there are zeroes; return its size and SHA-256."""
    digest = hashlib.sha256()
    with target.open("xb") as file:
        for chunk in chunks:
            digest.update(chunk)
            if chunk.strip(b"\0"):
                file.write(chunk)
            else:
                file.seek(len(chunk), os.SEEK_CUR)
        size = file.truncate(file.tell())
    flush(target)
    return size, digest.hexdigest()
