"""The files of a campaign: in memory, in a folder that is locked as long as the campaign lives."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hakoiri.storage.ledger.lock import abandoned, making

#: Where files cost no waiting for a disk.
_MEMORY = Path("/dev/shm")  # noqa: S108
_PREFIX = "mayhem-"


def usual_place() -> Path:
    """Memory, where there is such a folder, else that of temporary files."""
    return _MEMORY if _MEMORY.is_dir() else Path(tempfile.gettempdir())


@contextmanager
def own_folder(place: Path) -> Iterator[Path]:
    """A new folder in `place`, gone when the block ends; what kills of earlier campaigns have left there goes first."""
    for left in abandoned(place.glob(f"{_PREFIX}*")):
        _remove(left)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
    with making(folder):
        try:
            yield folder
        finally:
            _remove(folder)


def _remove(folder: Path) -> None:
    for mounted in [each for pattern in ("*", "*/data") for each in folder.glob(pattern) if each.is_mount()]:
        subprocess.run(["umount", "--lazy", mounted], check=False)
    shutil.rmtree(folder, ignore_errors=True)
