"""The errors of a run on disk.

StorageError (HakoiriError)
├── RunHeldError (BlockingIOError)     another process drives the run
├── TakenOverError                     another process has written to the run that this one drives
├── GoneError (LookupError)            the run was deleted after it was found
├── NameTakenError (FileExistsError)   another run was made by the same name meanwhile
├── ElsewhereError                     the requested layer is kept by hosts
├── DamagedError                       bytes on disk differ from those written: names the first block that fails
├── FormatError                        written by another version of the format
├── DiskFullError (OSError)            no room left, found before or during a write
├── NotWritableError (PermissionError) a file or the data directory refuses us, or is on a network file system
├── AddressSpaceError (MemoryError)    this process may not have the addresses that LMDB reserves
└── PoisonedError                      a write failed before: this process may not write to the run any more
"""

from hakoiri.puzzles.errors import HakoiriError, Hint


class StorageError(HakoiriError):
    """The base of everything below."""


class RunHeldError(StorageError, BlockingIOError):
    """Another live process holds the run's lock."""


class TakenOverError(StorageError):
    """Another process has driven the run while this one was suspended and its lock was removed."""


class GoneError(StorageError, LookupError):
    """The run does not exist any more."""


class NameTakenError(StorageError, FileExistsError):
    """Another process has made a run by the same name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a run {name} already; take another name", Hint("delete", name))


class ElsewhereError(StorageError):
    """A layer is kept by hosts, and is not on this machine."""


class DamagedError(StorageError):
    """A record, block or data file fails its checks."""


class FormatError(StorageError):
    """The run was written by a format that this program does not read."""


class DiskFullError(StorageError, OSError):
    """There is not enough free disk for what comes next."""


class NotWritableError(StorageError, PermissionError):
    """A file, or the data directory, cannot be written."""


class AddressSpaceError(StorageError, MemoryError):
    """The map of a data file does not fit into the address space allowed to this process."""


class PoisonedError(StorageError):
    """An earlier write of this process failed; what it wrote cannot be trusted until the run is opened again."""
