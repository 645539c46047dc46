"""The names of a run's files and database entries, each made only here; used in `docs/reference/file-formats.md`.

``<data>/<run id>/`` holds LMDB's ``data.mdb`` and ``lock.mdb``, and besides:

``created``    a text of nanoseconds since 1970: the time at which the run was made, or, if the clock was put back, one
               more than that of the newest run; orders runs without opening them
``title``      what people call the run, if it has a title: UTF-8
``holder``     the lock of the driving process
``queued``     exists while a coordinator is to drive the run to its end
``table``      the table of a run whose table does not fit in memory (`storage.layers.table_file`)
``spill/``     exists while a long layer is made (`storage.layers.spill`)
``scratch-*/`` exist while a question needs a search of its own (`storage.layers.store`)
``members/``   exists while a study of sizes measures one of its members

The data directory also holds ``.served``, which a coordinator keeps locked while it serves the directory. A coordinator
that drives runs by threads also locks ``.served-by-threads``. The process that answers a long question locks one of the
files ``.answering-N``. A run being created, restored or deleted has another name, so that a directory with a run's name
is always a whole run. ``.restored-*`` has runs that only have to be moved to their names.
"""

import os
import secrets
import struct
import time
from pathlib import Path

FORMAT_VERSION = 4

DATA_FILE, LOCK_FILE = "data.mdb", "lock.mdb"
CREATED_FILE, TITLE_FILE = "created", "title"
HOLDER_FILE = "holder"
QUEUED_FILE = "queued"
TABLE_FILE = "table"
#: In the data directory: locked while a coordinator serves it.
SERVED_FILE, SERVED_BY_THREADS_FILE = ".served", ".served-by-threads"
#: In the data directory: long questions put to the web server, and the requests that it has received.
QUESTIONS_FOLDER, REQUESTS_FOLDER = ".questions", ".requests"
ANSWERING_PREFIX = ".answering-"
#: In a run: spill files, and the runs that measure the members of a study of sizes.
SPILL_FOLDER, MEMBERS_FOLDER = "spill", "members"
SCRATCH_PREFIX = "scratch-"
#: The first bytes of a certificate's file.
CERTIFICATE_BEGINS = b'{\n "certificate": '
CREATING_PREFIX, RESTORED_PREFIX, DELETING_PREFIX = ".creating-", ".restored-", ".deleting-"
#: The files of a run that an archive has; the others are made anew where they are needed.
ARCHIVED_FILES = (DATA_FILE, CREATED_FILE, TITLE_FILE, TABLE_FILE)

#: LMDB's databases inside `DATA_FILE`.
META, LAYERS, BLOCKS, CLOSED = b"meta", b"layers", b"blocks", b"closed"
COMPONENTS, PAIRS, LABELS = b"components", b"pairs", b"labels"
#: For a tree: the record of each chunk of subtrees, and the solutions found there.
CHUNKS, FOUND = b"chunks", b"found"
#: For kinds of run that find one result after another: their results, and the beam under way.
ROWS, BEAM = b"rows", b"beam"
DATABASES = (META, LAYERS, BLOCKS, CLOSED, COMPONENTS, PAIRS, LABELS, CHUNKS, FOUND, ROWS, BEAM)
MANIFEST_KEY, LIMITS_KEY, STATE_KEY, CANCEL_KEY = b"manifest", b"limits", b"state", b"cancel"
#: The state of the layer under way, and the list of a directed search's segments of older keys.
PARTIAL_KEY, CLOSED_KEY = b"partial", b"closed"
#: The layers whose keys are kept, unless all are (`storage.layers.depths`).
KEPT_KEY = b"kept"
#: The shape of the table's file, if the run has one (`storage.layers.table_file`).
TABLE_KEY = b"table"
#: The hosts that keep layers of the run, with the ranges of each.
HOSTS_KEY = b"hosts"
#: The same of a run whose layers are all here, until the hosts have deleted their parts.
LEAVING_KEY = b"leaving"
#: At a host: the ranges of all layers that it keeps (`HostRequest.own_digest`).
OWN_RANGES_KEY = b"ranges"
#: The last round of the layer under way that all hosts have stored.
ROUND_KEY = b"round"
#: With the number of a range: the component of each of its trees, while the components of a whole space are numbered.
NUMBERS_KEY = b"numbers"
#: The division of a tree's subtrees into chunks.
CUTTING_KEY = b"cutting"

#: Digits of a time in nanoseconds, and letters of a title.
_MOST_DIGITS, MOST_TITLE = 20, 200
#: A sparse address range, reserved once and never resized: resizing across processes corrupts.
MAP_BYTES = 1 << 40


def certificate_file(directory: Path) -> Path:
    """Return the file beside a hunt for the certificate of its best deal, used unless the user names another."""
    return directory.with_suffix(".json")


def questions_folder(run: str) -> str:
    """Return the folder, in the data directory, of the questions to a run; it has a subfolder for each question."""
    return f"{QUESTIONS_FOLDER}/{run}"


def run_of(directory: Path) -> str:
    """Return the name of the run in a directory, which may still be under construction."""
    name = directory.name
    return name.removeprefix(CREATING_PREFIX).rpartition("-")[0] if name.startswith(CREATING_PREFIX) else name


def creating(data: Path, run: str) -> Path:
    """Return a directory, different at each call, in which to build a run before it is renamed into place."""
    return data / f"{CREATING_PREFIX}{run}-{secrets.token_hex(3)}"


def runs_being_made(data: Path) -> list[Path]:
    """Return the directories in which runs are being built, or were when their makers were killed."""
    return sorted(data.glob(f"{CREATING_PREFIX}*"))


def restored(building: Path) -> Path:
    """Return the name that a directory from `creating` gets once all runs in it are restored, and can be moved out."""
    return building.with_name(f"{RESTORED_PREFIX}{building.name.removeprefix(CREATING_PREFIX)}")


def restored_directories(data: Path) -> list[Path]:
    """Return the directories with runs that are restored, and were not moved to their names."""
    return sorted(data.glob(f"{RESTORED_PREFIX}*"))


def deleting(data: Path, run: str) -> Path:
    """Return a name, different at each call, that a run is given before its files are removed."""
    return data / f"{DELETING_PREFIX}{run}-{secrets.token_hex(3)}"


def deleted_directories(data: Path) -> list[Path]:
    """Return the directories of runs whose removal has begun and not ended."""
    return sorted(data.glob(f"{DELETING_PREFIX}*"))


def run_directories(data: Path) -> list[Path]:
    """Return the directories of all whole runs in a data directory, by name; empty if `data` is not a directory."""
    if not data.is_dir():
        return []
    found = (entry for entry in data.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in found if (entry / DATA_FILE).is_file())


def queued_runs(data: Path) -> list[Path]:
    """Return the queued runs of a data directory."""
    return [run for run in run_directories(data) if (run / QUEUED_FILE).exists()]


def created_at(directory: Path) -> int:
    """Return the time at which a run was made, in nanoseconds since 1970; 0 if it is unknown."""
    text = _first_bytes(directory / CREATED_FILE, _MOST_DIGITS + 1)
    return int(text) if len(text) <= _MOST_DIGITS and text.isdigit() else 0


def next_age(data: Path) -> int:
    """Return the time for a new run, greater than that of every other run in the directory, whatever the clock says."""
    newest = max(map(created_at, run_directories(data)), default=0)
    return min(max(time.time_ns(), newest + 1), int("9" * _MOST_DIGITS))


def title_of(directory: Path) -> str:
    """Return the title of a run; empty if it has none."""
    return _first_bytes(directory / TITLE_FILE, 4 * MOST_TITLE).decode(errors="replace")[:MOST_TITLE]


def _first_bytes(path: Path, most: int) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, most)
    except OSError:  # A directory.
        return b""
    finally:
        os.close(file)


def by_age(directory: Path) -> tuple[int, int, str]:
    """Sort key for runs, oldest first. A copy has the creation time of its original, and sorts after it."""
    try:
        copied = (directory / CREATED_FILE).lstat().st_ctime_ns
    except OSError:
        copied = 0
    return created_at(directory), copied, directory.name


def number_key(number: int) -> bytes:
    """The key of a layer (its depth), a run of older keys, a component, a slab of labels or a chunk: 4 bytes."""
    return struct.pack(">I", number)


def block_key(depth: int, first: int, key_bytes: int) -> bytes:
    """The key of the block of layer `depth` that begins with configuration `first`: sorts as (depth, first)."""
    return number_key(depth) + first.to_bytes(key_bytes, "big")


def split_block_key(raw: bytes) -> tuple[int, int]:
    """The inverse of `block_key`: depth and first configuration."""
    return int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big")
