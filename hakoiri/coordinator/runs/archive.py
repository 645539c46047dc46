"""Archives: the files of a run, and of the runs derived from it, in a folder or in a bucket of S3.

    <where>/<run>/files/<run>/data.mdb   and the other files, as they are
    <where>/<run>/archive.json           {"format": 1, "runs": [...], "files": {"<run>/data.mdb": [size, SHA-256], ...},
                                          "identities": {"<run>": `storage.ledger.manifest.Manifest.identity`, ...}}

IMPORTANT: `archive.json` is written last, when all files are durable: what lacks it is no archive. A run that has
changed since is archived into another folder, "folder" in the index, before the index is replaced and the files of
before are removed. Runs are restored in a directory that no command takes for a run. It is renamed when all checksums
are right; then whoever comes next moves the runs out of it, if this process is killed
(`storage.ledger.lock.move_restored`).

Whoever gave the archive may have written anything: of its index only the files of `ARCHIVED_FILES` are restored, and of
each as many bytes as the index says, which is bounded, too.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from hakoiri.coordinator.errors import RunError, UnknownRunError
from hakoiri.coordinator.runs.catalogue import base_of, belonging_to, free_name, keepers_of
from hakoiri.errors import DamagedError, HakoiriError, Hint, NameTakenError, StorageError, TargetError, counted, visible
from hakoiri.storage.engine.environment import require_free, translated
from hakoiri.storage.engine.files import Given, flush
from hakoiri.storage.layers.table_file import TableShape
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock, making, move_restored, remove_abandoned
from hakoiri.storage.names import ARCHIVED_FILES, DATA_FILE, MAP_BYTES, TABLE_FILE, creating, restored

_INDEX, _CHUNK_BYTES = "archive.json", 1 << 20
#: The most bytes of an index.
_MOST_INDEX = 8 << 20
#: The most bytes that are read without a message: a slow disk takes ten seconds.
_MUCH = 1 << 30
Say = Callable[[str], object]
_FILE_NAME = re.compile(r"[\w-]+(/[^/\0]+)+")
_RUN_NAME = re.compile(r"[\w-]+", re.ASCII)
_Size = Annotated[int, msgspec.Meta(ge=0, le=MAP_BYTES)]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class _ArchiveIndex(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    format: Literal[1]
    runs: Annotated[list[str], msgspec.Meta(min_length=1)]
    files: dict[str, tuple[_Size, _Sha256]]
    #: Without runs whose manifest could not be read; earlier versions wrote none.
    identities: dict[str, _Sha256] = {}
    folder: Annotated[str, msgspec.Meta(pattern=r"\Afiles(-[0-9a-f]{6})?\Z")] = "files"


class Archived(NamedTuple):
    """A run in an archive: all its runs, the number of files, and their size in bytes.

    `is_new` is false where it was archived before, and has not changed since.
    """

    runs: list[str]
    files: int
    bytes: int
    is_new: bool = True


def _archived(index: _ArchiveIndex, is_new: bool = True) -> Archived:
    return Archived(index.runs, len(index.files), sum(size for size, _ in index.files.values()), is_new)


class _Folder:
    def __init__(self, where: str, run: str) -> None:
        self._shelf, self._run = Given(Path(where).expanduser()), run

    def require_free(self, needed: int) -> None:
        require_free(self._shelf.directory / self._run, needed, is_run=False)

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self._shelf.directory.mkdir(parents=True, exist_ok=True)
        self._shelf.write(f"{self._run}/{name}", chunks)

    def read(self, name: str) -> Iterator[bytes]:
        with self._shelf.open(f"{self._run}/{name}", "rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk

    def remove_others(self, folder: str) -> None:
        """Remove the files of this archive that are in another folder."""
        for name in self._shelf.names(self._run):
            if name.startswith("files") and name != folder:
                self._shelf.remove_folder(f"{self._run}/{name}")

    def runs(self) -> list[str]:
        """Return the names of all archives beside this one; `FileNotFoundError` if there is no such place."""
        return sorted(each.name for each in self._shelf.directory.iterdir() if _RUN_NAME.fullmatch(each.name))


class _Bucket:
    def __init__(self, where: str, run: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ModuleNotFoundError as error:
            raise HakoiriError(f"{error.name} is not installed; give: pip install 'hakoiri[s3]'") from error
        # Keys and the address of the server are in the environment, as for every program with S3.
        self._obstore, self._store = obstore, from_url(f"{where.rstrip('/')}/{run}")

    def require_free(self, needed: int) -> None:
        """A bucket has no end."""

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        self._obstore.put(self._store, name, iter(chunks), chunk_size=8 * _CHUNK_BYTES)

    def read(self, name: str) -> Iterator[bytes]:
        yield from map(bytes, self._obstore.get(self._store, name).stream(_CHUNK_BYTES))

    def remove_others(self, folder: str) -> None:
        there = [each["path"] for part in self._obstore.list(self._store) for each in part]
        if gone := [path for path in there if path != _INDEX and not path.startswith(f"{folder}/")]:
            self._obstore.delete(self._store, gone)

    def runs(self) -> list[str]:
        found = self._obstore.list_with_delimiter(self._store)["common_prefixes"]
        return sorted(name for path in found if _RUN_NAME.fullmatch(name := path.rstrip("/").rpartition("/")[2]))


@contextmanager
def _opened(where: str, run: str) -> Iterator[_Folder | _Bucket]:
    """Yield the place of an archive; errors in the block name it."""
    if not where:
        raise TargetError("no place is named; name a folder, or s3://BUCKET/PREFIX")
    try:
        yield _Bucket(where, run) if where.startswith("s3://") else _Folder(where, run)
    except HakoiriError:
        raise
    except Exception as error:  # obstore has exceptions of its own.
        if not isinstance(error, OSError) and not type(error).__module__.startswith("obstore"):
            raise
        why = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise TargetError(f"{where} cannot be used: {why}; choose another place") from error


def archive_run(directory: Path, where: str, say: Say = str) -> Archived:
    """Copy a run, with those derived from it, to a folder or to ``s3://BUCKET/PREFIX``; return what is there.

    An archive of before is replaced if the run has changed since. `say` is called before much is read.

    Raises `RunHeldError` while a process drives one of them, and `DiskFullError` before a copy that does not fit.
    Raises `RunError` if hosts keep its layers, if it is derived itself, or if another run of its name is there.
    """
    if base := base_of(directory):
        raise RunError(f"run {directory.name} belongs to run {base}; archive {base}, which includes it")
    runs = [directory, *belonging_to(directory)]
    if hosts := sorted({host for run in runs for host in keepers_of(run)}):
        raise RunError(f"{', '.join(hosts)} keep layers of run {directory.name}", Hint("collect", directory.name))
    with _opened(where, directory.name) as place, ExitStack() as held:
        before = _index(place)
        for run in runs:
            held.enter_context(RunLock(run, drives=False))
        sources = {f"{run.name}/{name}": _Source(run, name) for run in runs for name in _archived_files(run)}
        sizes = {file: source.stated_size for file, source in sources.items()}
        identities = {run.name: found for run in runs if (found := _identity(run))}
        index = _ArchiveIndex(1, [run.name for run in runs], {}, identities)
        if before is not None:
            name, was = directory.name, before.identities.get(directory.name)
            if was and name not in identities:
                raise DamagedError(f"run {name} cannot be read; its archive in {where} is left as it is")
            if lost := [each for each in before.runs if each not in index.runs and (directory.parent / each).exists()]:
                raise DamagedError(
                    f"run {lost[0]} belonged to {name}, and cannot be read; their archive in {where} is left as it is"
                )
            if was and was != identities[name]:
                raise RunError(f"there is an archive of another run {name} in {where} already; choose another place")
            if sizes == {file: size for file, (size, _) in before.files.items()}:
                _said(say, "comparing", [*sizes.values()])
                for file, source in sources.items():
                    index.files[file] = source.read_through()
                if index == msgspec.structs.replace(before, folder=index.folder):
                    return _archived(before, is_new=False)
            index.folder = f"files-{secrets.token_hex(3)}"
        place.require_free(_said(say, "copying", [*sizes.values()]))
        for file, source in sources.items():
            place.write(f"{index.folder}/{file}", source)
            index.files[file] = source.size, source.digest.hexdigest()
        place.write(_INDEX, [msgspec.json.encode(index)])
        if _index(place) != index:
            raise StorageError(f"{_INDEX} in {where} is not as it was written; choose another place")
        place.remove_others(index.folder)
    return _archived(index)


def list_archives(where: str) -> dict[str, Archived | None]:
    """Return what is archived in a folder or at ``s3://BUCKET/PREFIX``, by the run's name; ``None``: not whole."""
    with _opened(where, "") as place:
        names = place.runs()
    found = dict[str, Archived | None]()
    for name in names:
        with _opened(where, name) as place, suppress(DamagedError):
            found[name] = None
            if index := _index(place):
                _files_of(index, name)
                found[name] = _archived(index)
    return found


def restore_run(data: Path, name: str, where: str, new_name: str | None = None, say: Say = str) -> Archived:
    """Restore an archived run, and those derived from it, by their names; all of them if all checksums are right.

    A run that has no derived ones may be restored by another name. `say` is as for `archive_run`.

    Raises `NameTakenError` if there is a run of such a name, `DamagedError` for a file that differs or is missing.
    """
    with _opened(where, name) as place, ExitStack() as building:
        if (index := _index(place)) is None:
            raise UnknownRunError(f"there is no whole archive of run {name} in {where}", Hint("archives", where))
        files = _files_of(index, name)
        data.mkdir(parents=True, exist_ok=True)
        remove_abandoned(data)
        if new_name and len(index.runs) > 1:
            raise RunError(f"runs {', '.join(index.runs[1:])} belong to run {name} by its name; restore it by that")
        names = {run: free_name(data, new_name or run) for run in index.runs}
        require_free(data / name, _said(say, "copying", [size for size, _ in files.values()]), is_run=False)
        folder = creating(data, name)
        folder.mkdir()
        building.callback(Given(data).remove_folder, folder.name)
        building.enter_context(making(folder))
        for run in names.values():
            (folder / run).mkdir()
        for file, (size, digest) in files.items():
            run, _, inner = file.partition("/")
            try:
                found = _copied(place.read(f"{index.folder}/{file}"), folder / names[run] / inner, size)
            except FileNotFoundError:
                raise DamagedError(f"{file} is missing in the archive of run {name} in {where}") from None
            if found != digest:
                raise DamagedError(f"{file} in {where} is damaged: SHA-256 {digest} expected, {found} found")
        for run, identity in index.identities.items():
            if run in names and (here := _identity(folder / names[run])) != identity:
                raise DamagedError(f"{where} has another run for {run}: identity {identity} expected, {here} found")
        for each in (*(folder / run for run in names.values()), folder):
            flush(each)
        # IMPORTANT: one rename for all runs: a kill leaves all of them or none.
        whole = folder.rename(restored(folder))
        flush(data)
        if taken := move_restored(whole):
            raise NameTakenError(taken[0])
    return _archived(index)._replace(runs=[*names.values()], files=len(files))


def _index(place: _Folder | _Bucket) -> _ArchiveIndex | None:
    """Return the index of an archive; ``None`` without one, `DamagedError` if it cannot be read."""
    try:
        return msgspec.json.decode(b"".join(_bounded(place.read(_INDEX), _MOST_INDEX)), type=_ArchiveIndex)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{_INDEX} is damaged, or of another format: {visible(str(error))}") from error


def _archived_files(run: Path) -> list[str]:
    """Return the files of a run that are archived; `DamagedError` without one that it needs."""
    there, needed = {*Given(run).names()}, [DATA_FILE]
    with suppress(StorageError), Ledger(run) as ledger:
        needed += [TABLE_FILE] if TableShape.of(ledger) else []
    if missing := [name for name in needed if name not in there]:
        raise DamagedError(f"run {run.name} has lost its file {missing[0]}; restore it from an archive")
    return [name for name in ARCHIVED_FILES if name in there]


def _said(say: Say, doing: str, sizes: list[int]) -> int:
    """Return the sum of the sizes of some files, and say it, and what is done with them, if that takes a while."""
    if (size := sum(sizes)) > _MUCH:
        say(f"{doing} {counted(len(sizes), 'files')}, {size / 1e6:,.1f} MB")
    return size


def _identity(run: Path) -> str:
    """Return the identity of a run; empty if its manifest cannot be read."""
    with suppress(StorageError), Ledger(run) as ledger:
        return ledger.manifest.identity
    return ""


def _files_of(index: _ArchiveIndex, name: str) -> dict[str, tuple[int, str]]:
    """Return the files to be restored; `DamagedError` if the index is not that of an archive of the run `name`."""
    wanted = [f"{run}/{file}" for run in index.runs for file in ARCHIVED_FILES]
    for file in index.files:
        inside = _FILE_NAME.fullmatch(file) and not {".", ".."} & {*file.split("/")}
        if not inside or file.partition("/")[0] not in index.runs:
            raise DamagedError(f"the archive of run {name} has a file {file!r}, which is of none of its runs")
    for run in index.runs:
        if f"{run}/{DATA_FILE}" not in index.files:
            raise DamagedError(f"the archive of run {name} has no {DATA_FILE} of run {run!r}")
    if index.runs[0] != name or len({*index.runs}) < len(index.runs):
        raise DamagedError(f"{_INDEX} of run {name} is damaged: its runs are {index.runs[:2]}")
    return {file: index.files[file] for file in wanted if file in index.files}


class _Source:
    """The bytes of a file of a run; once they are read, their `size` and SHA-256 `digest`."""

    def __init__(self, run: Path, name: str) -> None:
        self._run, self._name = run, name
        self.size, self.digest = 0, hashlib.sha256()

    @property
    def stated_size(self) -> int:
        """The size of the file, which is not read."""
        with translated(self._run), Given(self._run).open(self._name, "rb") as file:
            return os.fstat(file.fileno()).st_size

    def read_through(self) -> tuple[int, str]:
        """Return size and digest."""
        for _ in self:
            pass
        return self.size, self.digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        self.size, self.digest = 0, hashlib.sha256()
        with translated(self._run), Given(self._run).open(self._name, "rb") as file:
            before = os.fstat(file.fileno())
            while chunk := file.read(_CHUNK_BYTES):
                self.digest.update(chunk)
                self.size += len(chunk)
                yield chunk
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or self.size != after.st_size:
            raise StorageError(f"{self._name} of run {self._run.name} changed while it was archived; archive it again")


def _bounded(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yield chunks; ``ValueError`` where they have more than `most` bytes together."""
    for chunk in chunks:
        most -= len(chunk)
        if most < 0:
            raise ValueError("it is too long")
        yield chunk


def _copied(chunks: Iterable[bytes], target: Path, size: int) -> str:
    """Write a file of `size` bytes, durably, with holes where there are zeroes; return its SHA-256.

    Stop where the chunks are longer.
    """
    digest, left = hashlib.sha256(), size
    with target.open("xb") as file:
        for chunk in chunks:
            digest.update(chunk)
            if (left := left - len(chunk)) < 0:
                break
            if chunk.strip(b"\0"):
                file.write(chunk)
            else:
                file.seek(len(chunk), os.SEEK_CUR)
        file.truncate(file.tell())
    flush(target)
    return digest.hexdigest()
