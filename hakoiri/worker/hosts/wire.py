"""Messages between hosts: coded blocks, the outbox of their sender, and the inbox of the host that keeps them.

A message is a payload (`worker.transport.payload`): [three numbers; the range of each block; its first key; its number
of keys; its number of bytes; the bytes of all blocks]. The three numbers are the sender's; the message's, from 0 on for
each pair of hosts; and 1 if the bytes are compressed, else 0. The coordinator tells each host how many to expect.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from queue import Full, Queue
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np
import redis
import zstandard
from numpy.typing import NDArray

from hakoiri.errors import PayloadError
from hakoiri.storage.layers.blocks import Coded, join_coded
from hakoiri.storage.ledger.manifest import decompressed
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.transport.connection import inbox_key
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays

#: The seconds that a message may wait for room in a data Redis, and that a receiver waits for a message.
PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS, _LOOK_SECONDS = 0.05, 0.2
#: The seconds after which Redis drops messages that were not read.
_KEEP_SECONDS = 900
#: The most bytes of a message when it is decompressed.
_MOST_BYTES = 1 << 28


class Mail:
    """The lists of messages to the hosts of a request, in its attempt."""

    def __init__(self, data_pool: DataRedisPool, request: HostRequest) -> None:
        self._data_pool, self._numbers, self._me = data_pool, request.data_redis, request.me
        self._names = [inbox_key(request.session, host, request.depth, request.attempt) for host in request.hosts]

    def send(self, owner: int, message: bytes) -> None:
        """Push a message to the data Redis of its receiver; wait while that is full."""
        until = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with self._data_pool.reach(self._numbers[owner]) as connection:
                    pipeline = connection.pipeline(transaction=False)
                    # A view, because redis-py puts the whole of any other value into the error if Redis refuses it.
                    pipeline.rpush(self._names[owner], memoryview(message))
                    pipeline.expire(self._names[owner], _KEEP_SECONDS)
                    pipeline.execute()
                    return
            except redis.exceptions.OutOfMemoryError as error:
                if monotonic() > until:
                    raise PayloadError("the data Redis of another host is full and does not empty") from error
                sleep(_PAUSE_SECONDS)

    def receive(self) -> bytes | None:
        """Return the next message in the own data Redis; ``None`` if none comes within a moment."""
        with self._data_pool.reach(self._numbers[self._me]) as connection:
            found: Any = connection.blpop([self._names[self._me]], timeout=_LOOK_SECONDS)
            return bytes(found[1]) if found else None


@dataclass(frozen=True)
class HostTuning:
    """Sizes and times of a host, in bytes and seconds; only tests set them."""

    #: The approximate size of a message, and up to which size one is sent before another thread has started.
    message: int = 1 << 20
    small_message: int = 1 << 16
    #: A link is slow if a round waits for it for more than this part of its time, and for more than this many seconds.
    slow: float = 0.2
    slow_seconds: float = 0.1
    #: A layer is not sent in parts if sending takes this many times as long as expanding: keys in both parts are sent
    #: twice, which takes longer than the parts save. Pancakes of 11 send 1.2 times as much in parts by 2 hosts.
    most_sending: float = 3
    #: Messages are compressed if a byte takes the link this many seconds, divided by the threads of the host. With zstd
    #: at its fastest usual level, foreign keys of the 3x4 tiles take 0.55 of their bytes and those of pancakes of 11
    #: 0.92 to 0.76, for 1 to 4 ns a byte: this pays from 2 to 13 ns on.
    compressed: float = 14e-9
    #: Planning the step of a short layer expands fewer keys, one of 64, and at least this many.
    least_sampled: int = 256
    #: Threads are used only where they save more than this: handing out 16 ranges takes two milliseconds. Without
    #: them a host of one thread takes 0.9 times the processor time (sliding blocks of 200 layers).
    short: float = 0.002
    #: The most seconds of a request to check, because other requests may wait.
    check: float = 5.0


DEFAULT = HostTuning()
#: The most messages that wait for the network, and those sent at once: if each host sent one at a time, some would
#: receive several at once, others nothing.
WAITING, _SENDERS, _LEVEL = 16, 8, 1


class Link(NamedTuple):
    """The network link of a host, as measured in its last round.

    If it `is_slow`, it may send layers `in_parts`, each while the rest is expanded, and its messages may be compressed.
    """

    is_slow: bool = False
    compresses: bool = False
    in_parts: bool = False

    def after(self, seconds: float, waited: float, busy: float, sent: int, threads: int, tuning: HostTuning) -> "Link":
        """Return the link after a round of `seconds`.

        It carried `sent` bytes in `busy` seconds; for `waited` of these the host had nothing else to do.
        """
        # Once a link counts as slow, parts and compression shorten the waiting.
        spent, part = (busy, tuning.slow / 2) if self.is_slow else (waited, tuning.slow)
        is_slow = spent > max(tuning.slow_seconds, part * seconds)
        in_parts = is_slow and busy <= tuning.most_sending * (seconds - waited)
        return Link(is_slow, is_slow and busy * threads > tuning.compressed * sent, in_parts)


class Outbox:
    """Sends blocks to the hosts that keep their ranges, from threads of its own; `owner_of` gives the host of a range.

    `send` is called with the number of a host and a message; `put` or `flush` raises its errors. Attributes: `sent`,
    the number of messages to each host; `given`, the keys by range. Once `flush` has returned, `sent_bytes` is the
    total size of all messages, and `busy` the seconds in which at least one was under way.
    """

    def __init__(
        self, send: Callable[[int, bytes], None], owner_of: Callable[[int], int], hosts: int, me: int,
        compresses: bool = False, tuning: HostTuning = DEFAULT,
    ) -> None:  # fmt: skip
        self._send, self._owner_of, self._me, self._compresses, self._tuning = send, owner_of, me, compresses, tuning
        self._parts: list[list[tuple[int, Coded]]] = [[] for _ in range(hosts)]
        self._bytes, self.sent, self.given = [0] * hosts, [0] * hosts, Counter[int]()
        self.sent_bytes, self.busy = 0, 0.0
        self._under_way, self._busy_since = 0, 0.0
        self._error: BaseException | None = None
        self._given_up, self._lock, self._counting = False, threading.Lock(), threading.Lock()
        #: The owner, number and blocks of each message.
        self._queue: Queue[tuple[int, int, list[tuple[int, Coded]]] | None] = Queue(WAITING)
        self._threads = list[threading.Thread]()

    @property
    def is_idle(self) -> bool:
        """True if all full messages are sent."""
        return not self._queue.unfinished_tasks

    def put(self, number: int, coded: Coded) -> None:
        """Add blocks of a range, from any thread; wait while too many messages wait."""
        owner = self._owner_of(number)
        with self._lock:
            self._parts[owner].append((number, coded))
            self._bytes[owner] += len(coded.data)
            self.given[number] += int(coded.counts.sum())
            if self._bytes[owner] >= self._tuning.message:
                self._post(owner)

    def flush(self) -> None:
        """Return when everything is sent. No thread may call `put` meanwhile."""
        hosts = len(self._parts)
        # Sending some bytes takes less time than starting a thread for that.
        here = not self._threads and sum(self._bytes) <= self._tuning.small_message
        # Each host begins with the one after it: if all began with the first, its link would have to carry everything.
        for owner in ((self._me + step) % hosts for step in range(hosts)):
            if self._parts[owner] and here:
                self._send_one(*self._next(owner))
            elif self._parts[owner]:
                self._post(owner)
        self._queue.join()
        self._raise()

    def give_up(self) -> None:
        """Send nothing more; the threads end in a moment."""
        self._given_up = True
        with suppress(Full):
            for _ in self._threads:
                self._queue.put_nowait(None)

    def _post(self, owner: int) -> None:
        self._raise()
        size, following = self._bytes[owner], self._next(owner)
        is_small, most = size <= self._tuning.small_message, min(_SENDERS, len(self._parts))
        if not self._threads or (not is_small and len(self._threads) < most):
            self._threads.append(threading.Thread(target=self._run, name="outbox", daemon=True))
            self._threads[-1].start()
        while True:
            try:
                self._queue.put(following, timeout=_LOOK_SECONDS)
                return
            except Full:
                # Nobody takes anything any more, if another thread has failed.
                self._raise()

    def _next(self, owner: int) -> tuple[int, int, list[tuple[int, Coded]]]:
        """Return the next message to a host."""
        following = owner, self.sent[owner], self._parts[owner]
        self.sent[owner] += 1
        self._parts[owner], self._bytes[owner] = [], 0
        return following

    def _run(self) -> None:
        while (following := self._queue.get()) is not None:
            if self._given_up:
                return
            # After an error other messages are dropped, so that the sender does not wait for ever.
            if self._error is None:
                try:
                    self._send_one(*following)
                except BaseException as error:
                    self._error = error
            self._queue.task_done()

    def _send_one(self, owner: int, number: int, parts: list[tuple[int, Coded]]) -> None:
        message = pack_message(self._me, number, parts, self._compresses)
        with self._counting:
            self._busy_since = self._busy_since if self._under_way else monotonic()
            self._under_way += 1
            self.sent_bytes += len(message)
        try:
            self._send(owner, message)
        finally:
            with self._counting:
                self._under_way -= 1
                self.busy += 0.0 if self._under_way else monotonic() - self._busy_since

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
        if self._given_up:
            raise PayloadError("this attempt is given up")


class Inbox:
    """Receives messages in a thread of its own, and calls `put` with the range and the blocks of each part.

    `receive` returns the next message, or ``None`` after a moment without one. A repeated message counts once.
    Attributes: `received_bytes`, the size of all messages; `taken`, their keys by range.
    """

    def __init__(self, receive: Callable[[], bytes | None], put: Callable[[int, Coded], None]) -> None:
        self._receive, self._put = receive, put
        self._seen: set[tuple[int, int]] = set()
        self.received_bytes, self.taken = 0, Counter[int]()
        self._error: BaseException | None = None
        self._changed, self._taking, self._closed = threading.Condition(), threading.Lock(), False
        self._thread = threading.Thread(target=self._run, name="inbox", daemon=True)
        self._thread.start()

    def await_all(self, expected: Sequence[int], seconds: float) -> None:
        """Wait for the expected messages of each host; `PayloadError` if none arrives for `seconds`."""

        def missing() -> int:
            counts = dict(enumerate(expected))
            return sum(expected) - sum(0 <= number < counts.get(sender, 0) for sender, number in self._seen)

        with self._changed:
            while count := missing():
                if self._error is not None:
                    raise self._error
                before = len(self._seen)
                self._changed.wait(seconds)
                if len(self._seen) == before and self._error is None:
                    raise PayloadError(f"{count} messages of other hosts have not arrived")

    def close(self) -> None:
        """Accept no more messages once this returns; the thread ends in a moment."""
        with self._taking:
            self._closed = True

    def _run(self) -> None:
        # Messages of an attempt that has failed are dropped: they would fill the data Redis.
        with self._telling():
            while (message := self._receive()) is not None or not self._closed:
                with self._taking, self._telling():
                    # IMPORTANT: write nothing after `close`: the next step has spill files by the same names.
                    if message is not None and not self._closed and self._error is None:
                        self._take(message)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Keep an error of the block for `await_all`."""
        try:
            yield
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _take(self, message: bytes) -> None:
        sender, number, parts = unpack_message(message)
        if (sender, number) in self._seen:
            return
        for range_number, coded in parts:
            self._put(range_number, coded)
            self.taken[range_number] += int(coded.counts.sum())
        with self._changed:
            self._seen.add((sender, number))
            self.received_bytes += len(message)
            self._changed.notify_all()


def pack_message(sender: int, number: int, parts: Sequence[tuple[int, Coded]], compresses: bool = False) -> bytes:
    """Return a message with the blocks of some ranges."""
    ranges = np.repeat([each for each, _ in parts], [len(coded.counts) for _, coded in parts])
    coded = join_coded([coded for _, coded in parts])
    data = np.frombuffer(coded.data, "u1")
    ids = np.array([sender, number, compresses], dtype=np.int64)
    return pack_arrays([ids, ranges, *coded[:3], compressed(data) if compresses else data])


def compressed(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return some bytes compressed."""
    return np.frombuffer(zstandard.compress(data.data, _LEVEL), "u1")


def unpack_message(message: bytes) -> tuple[int, int, list[tuple[int, Coded]]]:
    """Return the sender, number, and blocks of each range of a message; `PayloadError` if it is damaged."""
    (sender, number, is_compressed), ranges, firsts, counts, lengths, data = unpack_arrays(message)
    coded = Coded(firsts, counts, lengths, (expanded(data, lengths) if is_compressed else data).data)
    cuts = [0, *(np.flatnonzero(np.diff(ranges)) + 1).tolist(), len(ranges)]
    parts = [(int(ranges[begin]), coded.between(begin, end)) for begin, end in pairwise(cuts) if begin < end]
    return int(sender), int(number), parts


def expanded(data: NDArray[np.uint8], lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return decompressed bytes, no more than parts of these `lengths` have; `PayloadError` if they are damaged."""
    try:
        return np.frombuffer(decompressed(data.data, min(int(lengths.sum()), _MOST_BYTES)), dtype=np.uint8)
    except ValueError as error:
        raise PayloadError(f"a message of a host is damaged: {error}") from None
