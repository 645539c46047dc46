"""Checks whether a data directory can be written, and has room."""

import shutil
import tempfile
from pathlib import Path

from hakoiri.puzzles.errors import Hint
from hakoiri.storage.engine.translation import disk_full, translated
from hakoiri.storage.errors import NotWritableError

#: Network file systems, on which LMDB's locks and memory map are unsafe.
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "lustre", "ceph", "glusterfs", "fuse.glusterfs", "afs",
    "gpfs", "beegfs", "dvs", "wekafs",
}  # fmt: skip
#: Free bytes required beyond a commit, so that the state of an interrupted run can still be written.
RESERVE_BYTES = 1 << 20


def refuse_network_file_system(directory: Path) -> None:
    """Raise `NotWritableError` if `directory` is on a network file system, where LMDB is unsafe."""
    import psutil

    resolved = directory.resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    for parent in (resolved, *resolved.parents):
        if parent in mounts:
            if mounts[parent].lower() in _NETWORK:
                text = f"{directory} lies on a network file system ({mounts[parent]}), where LMDB loses data"
                raise NotWritableError(text, Hint("change", "data"))
            return


def require_free(directory: Path, needed: int) -> None:
    """Raise `DiskFullError` unless `needed` bytes and the reserve are free on the run's disk."""
    if shutil.disk_usage(directory).free < needed + RESERVE_BYTES:
        raise disk_full(directory)


def require_writable(data: Path) -> None:
    """Make the data directory if it does not exist; raise `NotWritableError` if it cannot be written."""
    with translated(data / "-"):
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
