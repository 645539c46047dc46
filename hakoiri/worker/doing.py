"""Tasks done by a process for another one, whichever way a chunk comes: to a child process, or to an RQ worker."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hakoiri.errors import HakoiriError, PayloadError, TaskError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import load_file
from hakoiri.worker.tasks import checked
from hakoiri.worker.transport.payload import Arrays, EventKind, pack_arrays, unpack_arrays

#: The puzzle that this process has built last, by its spec.
_built: "dict[str, Doer]" = {}


class TaskOutcome(NamedTuple):
    """The end of an attempt at a chunk: the error or text that says why it brought no result, or the result's bytes."""

    kind: EventKind
    detail: object = ""
    result: bytes | None = None

    @classmethod
    def of(cls, work: Callable[[], Arrays]) -> "TaskOutcome":
        """Return the outcome of `work`, which gives arrays."""
        try:
            return cls("done", "", pack_arrays(work()))
        except PayloadError as error:
            return cls("missing", error)
        except MemoryError:
            # Another process may have more.
            return cls("missing", "too little memory")
        except HakoiriError as error:
            return cls("failed", error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # Rules may also end their process.
            return cls("failed", TaskError(f"{type(error).__name__}: {error}"))


class Doer:
    """Does tasks for one puzzle."""

    def __init__(self, puzzle: Puzzle) -> None:
        self.puzzle = puzzle

    @classmethod
    def built(cls, spec: Mapping[str, Any], file: str = "") -> "Doer":
        """Return the doer of a puzzle by its spec, and by its `file` if it has one; built once per process.

        IMPORTANT: without a file, a spec can name only a puzzle that is already here; it imports no modules but
        Hakoiri's own.
        """
        if (name := repr(sorted(spec.items()))) not in _built:
            _built.clear()
            if file:
                load_file(Path(file))
            _built[name] = cls(PuzzleSpec.from_dict(dict(spec)).build())
        return _built[name]

    def answer(self, task: str, raw: bytes, shared: Arrays) -> Arrays:
        """Return the result of a task with arrays that another process has made, `raw` the packed ones of the chunk.

        Raises `PayloadError` for damaged arrays, `TaskError` for arrays that the task does not take.
        """
        return checked(task, self.puzzle, unpack_arrays(raw), shared)
