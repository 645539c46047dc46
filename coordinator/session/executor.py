"""Where chunks are worked on. Two implementations of one contract: threads here, RQ workers anywhere."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from worker.tasks import Array, Arrays


class Executor(Protocol):
    """Maps a task over chunks.

    `name` is what a user calls it, `workers` how many chunks it can work on at once (for cutting chunks to fit).
    """

    name: str

    @property
    def workers(self) -> int:
        """How many chunks are worked on at once."""

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        """(number of the chunk, its result) for each chunk once, in any order.

        `chunks` is drawn lazily, so that bytes in flight are bounded; `shared` is sent once. Raises `StopRun` when the
        run is to stop, `TaskError` when a task failed on its own account.
        """

    def close(self) -> None:
        """Let go of threads and connections; chunks in flight are forgotten."""
