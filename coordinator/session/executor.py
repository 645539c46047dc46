"""The contract of what computes chunks, with two implementations: threads of this process, and RQ workers anywhere."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from worker.tasks import Array, Arrays


class Executor(Protocol):
    """Maps a task over chunks.

    `name` is what users call it.
    """

    name: str

    @property
    def workers(self) -> int:
        """How many chunks are computed at once; chunks are cut to fit."""

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        """(number of the chunk, its result) for each chunk once, in any order.

        `chunks` is consumed lazily, so that bytes in flight are bounded; `shared` is sent once. Raises `StopRun` when
        the run is to stop, `TaskError` when a task failed of itself.
        """

    def close(self) -> None:
        """Let go of threads and connections; chunks in flight are forgotten."""
