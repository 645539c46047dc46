"""Moves by the reference rules, in processes, for these are plain Python: a host makes layers again by them."""

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

#: So few keys are looked at here.
_FEW = 256
#: Keys at which kernel and rules differ are not all told.
_MOST_UNLIKE = 100


class Rules(Puzzle):
    """`base` with its moves by the reference rules, which so many processes follow until `close`; this one, if it is 1.

    Any thread may `expand`.
    """

    #: What a key leads to is derived once, however many moves lead there.
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
        """Some keys at which the kernel gives other successors than the rules."""
        return np.concatenate(self._unlike)[:_MOST_UNLIKE]

    def begin(self) -> None:
        """Count anew."""
        self._counts, self._unlike = [], self._unlike[:1]

    @property
    def found(self) -> int:
        """How many successors there are, each counted once for each that leads to it."""
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
    """A process that derives, for one thread at a time."""

    def __init__(self, spec: dict[str, Any]) -> None:
        # Here, because what a process has loaded is no part of what a host must have in common with others.
        from hakoiri.puzzles.user.files import configured_files, files_variable, loaded_files

        env = files_variable([*configured_files(), *loaded_files()]) | {PARENT: str(os.getpid())}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE], env=os.environ | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send, self._receive = self._pipes()
        write_message(self._send, pack_record(spec, b""))

    def derive(self, keys: Keys) -> list[Array]:
        """What the task ``derive`` gives; `TaskError` if it fails."""
        try:
            write_message(self._send, pack_arrays([keys]))
            answer = read_message(self._receive)
        except (EOFError, BrokenPipeError) as error:
            raise TaskError("a process that follows the rules of the puzzle has ended: look at its output") from error
        return unpack_arrays(answer)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        for pipe in self._pipes():
            pipe.close()
        self._process.wait()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        return cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)
