"""Moves by the reference rules, which are plain Python, by several processes. Hosts verify layers by them."""

import os
import subprocess
import sys
from queue import SimpleQueue
from typing import IO, Any, cast

import numpy as np

from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, Mask
from hakoiri.storage.ledger.records import pack_record
from hakoiri.worker.deriver import MODULE, PARENT, read_message, write_message
from hakoiri.worker.errors import TaskError
from hakoiri.worker.tasks import Array, do_task
from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays

#: Fewer keys are derived in this process.
_FEW = 256
#: The most keys reported at which kernel and rules differ.
_MOST_UNLIKE = 100


class Rules(Puzzle):
    """A puzzle like `base` that expands by the reference rules, in so many `processes`; in this one, if they are 1.

    Call `close` at the end. `expand` is thread-safe.
    """

    #: The successors of a key are distinct.
    paired = True

    def __init__(self, base: Puzzle, spec: dict[str, Any], processes: int) -> None:
        self._base, self._start = base, base.start
        self.name, self.layout, self.parameters = base.name, base.layout, base.parameters
        self.undirected, self.most_successors = base.undirected, base.most_successors
        self._spec, self._processes = spec, list[_Process]()
        #: Those that are idle; ``None`` for each that is still to be started.
        self._idle, self._alone = SimpleQueue[_Process | None](), processes == 1
        for _ in range(processes):
            self._idle.put(None)
        self._counts, self._unlike = list[int](), [base.layout.empty(0)]

    @property
    def unlike(self) -> Keys:
        """Some keys at which kernel and rules give different successors."""
        return np.concatenate(self._unlike)[:_MOST_UNLIKE]

    def begin(self) -> None:
        """Reset the counts."""
        self._counts, self._unlike = [], self._unlike[:1]

    @property
    def found(self) -> int:
        """The number of moves: pairs of a key and a distinct successor."""
        return sum(self._counts)

    def usual_start(self) -> Key:
        return self._start

    def successors(self, key: Key) -> list[Key]:
        return self._base.successors(key)

    def expand(self, keys: Keys) -> Expansion:
        successors, counts, unlike = self._derive(keys)
        self._counts.append(len(successors))
        if len(unlike):
            self._unlike.append(keys[unlike])
        return Expansion(successors, counts.astype(np.uint16))

    def is_goal(self, keys: Keys) -> Mask:
        return self._base.is_goal(keys)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()

    def _derive(self, keys: Keys) -> list[Array]:
        if self._alone or len(keys) < _FEW:
            return do_task("derive", self._base, [keys], ())
        if (process := self._idle.get()) is None:
            self._processes.append(process := _Process(self._spec))
        try:
            return process.derive(keys)
        finally:
            self._idle.put(process)


class _Process:
    """A child process that derives, for one thread at a time."""

    def __init__(self, spec: dict[str, Any]) -> None:
        # Here, because these modules are not part of the code that a host must share with others.
        from hakoiri.puzzles.user.files import configured_files, files_variable, loaded_files

        env = files_variable([*configured_files(), *loaded_files()]) | {PARENT: str(os.getpid())}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE], env=os.environ | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send, self._receive = self._pipes()
        write_message(self._send, pack_record(spec, b""))

    def derive(self, keys: Keys) -> list[Array]:
        """Return the result of the task ``derive``; `TaskError` if the process has ended."""
        try:
            write_message(self._send, pack_arrays([keys]))
            answer = read_message(self._receive)
        except (EOFError, BrokenPipeError) as error:
            raise TaskError(
                "a process that derives layers by the rules of the puzzle has ended; see its output"
            ) from error
        return unpack_arrays(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        for pipe in self._pipes():
            pipe.close()
        self._process.wait()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        return cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
