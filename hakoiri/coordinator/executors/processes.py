"""The channel to child processes of this one, for rules in plain Python, which hold the interpreter's lock.

Children are started once a session has worked for 0.3 s, or has so much work before it. Until they can work, and
once too many were lost, this process works itself. Each has one chunk at a time, so two full sockets never wait for
each other, and gets the next one before this process takes in its result. A child that dies, takes too long or too much
memory is replaced; its chunk goes to another one.
"""

import math
import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from selectors import EVENT_READ, DefaultSelector
from subprocess import DEVNULL, Popen
from typing import Any

import psutil

from hakoiri.coordinator.executors.sending import Channel, Chunk, SendingExecutor, SentChunks
from hakoiri.coordinator.session.resources import Budget, Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint, PayloadError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import loaded_from
from hakoiri.timing import clock
from hakoiri.worker.child import ChildRequest, ChildStart, receive, send
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.machine import ONE_THREAD, how_ended, start_child, worker_name
from hakoiri.worker.transport.payload import Array, Arrays, Event, pack_arrays, packed, unpack_arrays

#: The most children that are started in place of others.
_MOST_LOST = 3
#: The interval at which a child that does not read, or write, lets this process look whether it is to stop.
_LOOK_SECONDS = 0.1


class Child:
    """A child process; `busy` is the chunk and attempt that it works on."""

    def __init__(self) -> None:
        self.socket, its = socket.socketpair()
        more: dict[str, Any] = {"pass_fds": [its.fileno()], "stdin": DEVNULL, "process_group": 0}
        environment = {**ONE_THREAD, **os.environ}
        try:
            with its:
                process = start_child("hakoiri.worker.child", str(its.fileno()), env=environment, **more)
        except BaseException:
            self.socket.close()
            raise
        self.process: Popen[bytes] = process
        self.name, self.is_ready, self.began = worker_name(process.pid), False, time.monotonic()
        self.busy: Chunk | None = None
        #: The arrays that it was given last.
        self.shared: object = None
        self.socket.settimeout(_LOOK_SECONDS)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self.socket.fileno()

    def end(self) -> int:
        """Kill the process, which has nothing to lose, and return its exit code."""
        self.process.kill()
        self.socket.close()
        return self.process.wait()


class ProcessFlight(SentChunks):
    """Chunks that wait for a child, or are with one."""

    def __init__(self, task: str, stage: int, shared: Arrays) -> None:
        super().__init__(task, stage)
        self.shared, self.waiting = shared, deque[Chunk]()
        #: The bytes of results that have come, by token.
        self.results = dict[str, bytes]()

    @cached_property
    def packed(self) -> bytes:
        """The shared arrays as one message."""
        return pack_arrays(self.shared)

    def send_all(self, chunks: Iterable[tuple[Chunk, str]]) -> None:
        for chunk, _ in chunks:
            chunk.attempt, chunk.sent_at = chunk.attempt + 1, time.monotonic()
            self.waiting.append(chunk)

    def fetch(self, chunk: Chunk, event: Event) -> list[Array] | None:
        raw = self.results.pop(chunk.token)
        chunk.received = len(raw)
        return unpack_arrays(raw)


class ProcessChannel(Channel):
    """Up to `most` children, each of up to `memory` bytes; with `at_once` they start with the first work."""

    # A chunk takes less than through Redis: coding it, two messages, and a change of processes.
    name, own, chunk_seconds = "processes", True, 0.001

    def __init__(
        self, spec: PuzzleSpec, control: Control, observer: Observer, tuning: Tuning, most: int, memory: int,
        at_once: bool,
    ) -> None:  # fmt: skip
        self._spec, self._control, self._observer = spec, control, observer
        self._tuning, self._most, self._memory, self._at_once = tuning, most, memory, at_once
        self._began, self._since, self._lost, self._is_closed = clock(), time.time(), 0, False
        #: The number of children that are wanted now.
        self._wanted = most
        self._children, self._flight = list[Child](), ProcessFlight("", 0, ())
        #: Why a child that had a chunk has ended, by its name.
        self._ended = dict[str, str]()
        self.living, self.coming = set(), set()

    @property
    def is_away(self) -> bool:
        return not self.living and not (self._at_once and self.coming)

    def expect_work(self, seconds: float, beside: int = 0) -> None:
        self._wanted = self._most - beside
        self._start_if_due(seconds)

    def _start_if_due(self, seconds: float) -> None:
        if self._at_once or clock() + seconds > self._began + self._tuning.processes_from:
            self._start_all()

    def look(self) -> None:
        self._start_if_due(0.0)
        # Those that can work now: nothing else comes from them.
        for _ in self._hear([child for child in self._children if not child.is_ready], 0.0):
            pass

    def begin(self, task: str, stage: int, shared: Arrays) -> ProcessFlight:
        self._flight = ProcessFlight(task, stage, shared)
        return self._flight

    def events(self, seconds: float) -> Iterator[Event]:
        self._give()
        yield from self._hear(self._children, min(seconds, _LOOK_SECONDS))
        self._give()

    def renew(self, now: float) -> Callable[[Chunk], str]:
        for child in [*self._children]:
            with suppress(psutil.Error):
                if psutil.Process(child.process.pid).memory_info().rss > self._memory:
                    self.exclude(child.name, f"it took more than {self._memory >> 20} MB")
                elif now > self._due(child):
                    self.drop(child.name)
        held = {id(chunk) for chunk in self._flight.waiting} | {id(child.busy) for child in self._children}
        return lambda chunk: "" if id(chunk) in held else self._ended.get(chunk.worker or "", "no process has it")

    def _due(self, child: Child) -> float:
        """Return the deadline of a child: for its start, or for a chunk of a stage that has ended."""
        if not child.is_ready:
            return child.began + self._tuning.stands_still
        if child.busy is None or child.busy.token in self._flight.chunks:
            return math.inf
        return child.busy.begun_at + child.busy.deadline

    def _patience(self) -> Callable[[], None]:
        """Return a check that raises `StopRun` when the run is to stop, and ``OSError`` once a message is overdue."""
        until = time.monotonic() + self._tuning.stands_still

        def check() -> None:
            self._control.check()
            if time.monotonic() > until:
                raise OSError("a message takes too long")

        return check

    def drop(self, worker: str) -> None:
        self.exclude(worker, "it takes too long")

    def exclude(self, worker: str, why: str, *hints: Hint) -> None:
        for child in [child for child in self._children if child.name == worker]:
            child.end()
            self._lose(child, f"process {child.process.pid} is ended: {why}")

    def close(self) -> None:
        self._is_closed = True
        for child in self._children:
            child.end()
        self._children.clear()

    def _start_all(self) -> None:
        while len(self._children) < self._wanted and self._lost <= _MOST_LOST and not self._is_closed:
            file = str(loaded_from(self._spec.name, self._spec.digest)) if self._spec.digest else ""
            started = psutil.Process().create_time()
            start = packed(ChildStart([*sys.path], file, self._spec.as_dict(), self._since, started))
            try:
                child = Child()
            except OSError as error:
                self._lost = _MOST_LOST + 1
                self._observer.note(f"cannot start a process for chunks ({error})")
                break
            self._children.append(child)
            self._send(child, [start[0].tobytes()])
        self._count()

    def _send(self, child: Child, messages: list[bytes]) -> None:
        """Send messages; a child that takes none is killed, and its end is noticed where it is heard."""
        check = self._patience()
        try:
            for message in messages:
                send(child.socket, message, check)
        except OSError:
            child.process.kill()

    def _count(self) -> None:
        self.living = {child.name for child in self._children if child.is_ready}
        self.coming = {child.name for child in self._children if not child.is_ready}

    def _give(self) -> None:
        """Give waiting chunks to idle children."""
        for child in [child for child in self._children if child.is_ready and child.busy is None]:
            if not self._flight.waiting:
                return
            chunk = self._flight.waiting.popleft()
            child.busy = chunk
            chunk.begun[chunk.attempt], chunk.begun_at = child.name, time.monotonic()
            flight, is_new = self._flight, child.shared is not self._flight.shared
            request = ChildRequest(flight.task, chunk.token, chunk.attempt, is_new)
            messages = [packed(request)[0].tobytes(), chunk.payload]
            child.shared = flight.shared
            self._send(child, messages + ([flight.packed] if is_new else []))

    def _hear(self, children: list[Child], seconds: float) -> Iterator[Event]:
        """Yield the events of children that have come, after up to so many seconds."""
        with DefaultSelector() as selector:
            for child in children:
                selector.register(child, EVENT_READ, child)
            heard: list[Child] = [key.data for key, _ in selector.select(seconds)] if children else []
        for child in heard:
            try:
                yield from self._heard(child)
            except (EOFError, OSError, MemoryError, OverflowError):
                # The last two are of a length that no message has.
                self._lose(child, f"process {child.process.pid} ended {how_ended(child.end())}")

    def _heard(self, child: Child) -> Iterator[Event]:
        """Yield the event of a child that has something to say, if any."""
        message = receive(child.socket, check := self._patience())
        if not child.is_ready:
            if message:
                child.end()
                self._lost = _MOST_LOST
                self._lose(child, f"process {child.process.pid} cannot work: {message.decode(errors='replace')}")
                return
            child.is_ready = True
            self._count()
            return
        chunk, child.busy = child.busy, None
        try:
            event = replace(Event.unpack(message), worker=child.name)
        except PayloadError as error:
            raise OSError from error
        raw = receive(child.socket, check)
        # Before its result is taken in.
        self._give()
        if chunk is not None and event.token == chunk.token and chunk.token in self._flight.chunks:
            self._flight.results[chunk.token] = raw
            yield event

    def _lose(self, child: Child, why: str) -> None:
        """Go on without a child that has ended, or with another one in its place."""
        if child in self._children:
            self._children.remove(child)
            self._lost += 1
            if child.busy is None:
                self._observer.note(why)
            self._ended[child.name] = why
            self._start_all()


def process_executor(
    puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer, budget: Budget, shares: Shares,
    audit: float, most: int,
) -> SendingExecutor:  # fmt: skip
    """Return the executor of up to `most` children of this process; they have half of its memory."""
    at_once, memory = budget.farm_from is not None, budget.memory // 2 // most
    channel = ProcessChannel(spec, control, observer, budget.tuning, most, memory, at_once)
    log, in_flight = WorkLog(own=True), shares.in_flight_bytes
    return SendingExecutor(channel, puzzle, control, observer, log, in_flight, budget.tuning, audit)
