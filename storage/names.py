"""The names that a run has on disk, each made here alone. `docs/storage-format.md` shows them in use.

``<data>/<run id>/`` holds LMDB's ``data.mdb`` and ``lock.mdb``; ``created``, the time of the run's making as a text of
nanoseconds since 1970, which orders runs without opening them; ``holder``, the lock of the driving process; and
``queued``, while a coordinator is to drive the run to its end; ``spill/`` while a long layer is made
(`storage.layers.spill`); and ``scratch-*/`` while a question needs a search of its own (`storage.layers.scratch`).
Beside the runs lies ``.served``, which a coordinator holds locked while it serves the data directory; one that drives
runs by threads holds ``.served-by-threads``, too; and ``.answering-N``, each held by the process that answers a long
question.
A run being created or deleted has another name, so that a directory with a run's name is always a whole run.
"""

import os
import secrets
import struct
from pathlib import Path

FORMAT_VERSION = 4

DATA_FILE, LOCK_FILE = "data.mdb", "lock.mdb"
CREATED_FILE = "created"
HOLDER_FILE = "holder"
QUEUED_FILE = "queued"
#: In the data directory itself: locked while a coordinator serves it.
SERVED_FILE, SERVED_BY_THREADS_FILE = ".served", ".served-by-threads"
#: There, too: what the server on the web was asked that takes long, and which requests it has had.
_QUESTIONS, REQUESTS_FOLDER = ".questions", ".requests"
_ANSWERING_PREFIX = ".answering-"
SPILL_FOLDER = "spill"
SCRATCH_PREFIX = "scratch-"
#: The first bytes of a certificate's file.
CERTIFICATE_BEGINS = b'{\n "certificate": '
_CREATING_PREFIX = ".creating-"
_DELETING_PREFIX = ".deleting-"

#: LMDB's databases inside `DATA_FILE`.
META, LAYERS, BLOCKS, CLOSED = b"meta", b"layers", b"blocks", b"closed"
COMPONENTS, PAIRS, LABELS = b"components", b"pairs", b"labels"
#: Of a tree: what is known of each chunk of subtrees, and the solutions found there.
CHUNKS, FOUND = b"chunks", b"found"
#: Of kinds of run that find one thing after another: what they found, and the beam under way.
ROWS, BEAM = b"rows", b"beam"
DATABASES = (META, LAYERS, BLOCKS, CLOSED, COMPONENTS, PAIRS, LABELS, CHUNKS, FOUND, ROWS, BEAM)
MANIFEST_KEY, LIMITS_KEY, STATE_KEY, CANCEL_KEY = b"manifest", b"limits", b"state", b"cancel"
#: How far the layer after the last is, and which segments of older keys a directed search has.
PARTIAL_KEY, CLOSED_KEY = b"partial", b"closed"
#: Which hosts keep layers of the run, and which ranges each.
HOSTS_KEY = b"hosts"
#: The last round of the layer under way that all of them have kept.
ROUND_KEY = b"round"
#: While the components of a whole space are sorted: how many configurations each has.
SIZES_KEY = b"sizes"
#: How the subtrees of a tree are cut into chunks.
CUTTING_KEY = b"cutting"

#: Of a time in nanoseconds.
_MOST_DIGITS = 20
#: A sparse address range, reserved once and never resized: resizing across processes corrupts.
MAP_BYTES = 1 << 40


def certificate_file(directory: Path) -> Path:
    """Beside a hunt: the certificate of its best deal, unless the user names another file."""
    return directory.with_suffix(".json")


def questions_folder(directory: Path) -> Path:
    """What a run was asked by the server on the web, a folder for each question."""
    return directory.parent / _QUESTIONS / directory.name


def answering_file(data: Path, number: int) -> Path:
    """Locked by the process that answers one of the long questions that may be answered at once."""
    return data / f"{_ANSWERING_PREFIX}{number}"


def run_of(directory: Path) -> str:
    """The name of the run that lies in a directory, or is being built there."""
    name = directory.name
    return name.removeprefix(_CREATING_PREFIX).rpartition("-")[0] if name.startswith(_CREATING_PREFIX) else name


def creating(data: Path, run: str) -> Path:
    """Where a run is built before it is renamed into place; another place each time."""
    return data / f"{_CREATING_PREFIX}{run}-{secrets.token_hex(3)}"


def runs_being_made(data: Path) -> list[Path]:
    """Where runs are being built, or were when their makers were killed."""
    return sorted(data.glob(f"{_CREATING_PREFIX}*"))


def deleting(data: Path, run: str) -> Path:
    """What a run is renamed to before its files go; another name each time."""
    return data / f"{_DELETING_PREFIX}{run}-{secrets.token_hex(3)}"


def deleted_directories(data: Path) -> list[Path]:
    """What is left of runs that were to be removed."""
    return sorted(data.glob(f"{_DELETING_PREFIX}*"))


def run_directories(data: Path) -> list[Path]:
    """The whole runs in a data directory, by name; none where there is no such directory."""
    if not data.is_dir():
        return []
    found = (entry for entry in data.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in found if (entry / DATA_FILE).is_file())


def created_at(directory: Path) -> int:
    """When a run was made, in nanoseconds since 1970; 0 if that is not known any more."""
    try:
        file = os.open(directory / CREATED_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        text = os.read(file, _MOST_DIGITS + 1)
    except OSError:  # A folder.
        return 0
    finally:
        os.close(file)
    return int(text) if len(text) <= _MOST_DIGITS and text.isdigit() else 0


def by_age(directory: Path) -> tuple[int, int, str]:
    """Sorts runs, the oldest first: a copy, which has the time of its original, is younger."""
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
