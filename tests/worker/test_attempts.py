"""A Redis that is full, does not answer, or has other things in it: the coordinator is told, and so is the user."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Self, cast

import numpy as np
import pytest
import redis
from redis.exceptions import OutOfMemoryError

from hakoiri.coordinator.executors.in_flight import Shared
from hakoiri.coordinator.session.resources import Tuning
from hakoiri.errors import PayloadError, WorkerError
from hakoiri.guests.boards.family import Member
from hakoiri.guests.deals.searching import SolveResult, WalkResult
from hakoiri.guests.nakuron.moving import PlayedGame
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker import doing
from hakoiri.worker.doing import Doer
from hakoiri.worker.program import differing_parts, program_of
from hakoiri.worker.rq_worker import _outcome, _perform
from hakoiri.worker.transport.connection import input_key, redis_errors, without_password
from hakoiri.worker.transport.payload import Event, TaskRequest, pack_arrays, unpacked

RESULTS: tuple[Any, ...] = (SolveResult, WalkResult, Member, PlayedGame)


class PlainRedis:
    """The little of Redis that chunks need, in a dictionary."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def set(self, name: str, value: Any, ex: int) -> bool:
        """Keep a value."""
        self.held[name] = bytes(value)
        return True

    def get(self, name: str) -> bytes | None:
        """A value."""
        return self.held.get(name)

    def expire(self, name: str, keep: int) -> bool:
        """Return whether it exists."""
        return name in self.held

    def unlink(self, *names: str) -> None:
        """Take values away."""
        for name in names:
            self.held.pop(name, None)

    def pipeline(self, transaction: bool) -> Any:
        """Do what is asked at once."""
        answers = list[Any]()

        def later(name: str) -> Callable[..., None]:
            return lambda *given, **options: answers.append(getattr(self, name)(*given, **options))

        return Pipeline(answers, **{name: later(name) for name in ("set", "get", "expire", "unlink")})


class Pipeline(SimpleNamespace):
    """A pipeline that has done all already."""

    def __init__(self, answers: list[Any], **calls: Callable[..., None]) -> None:
        super().__init__(**calls)
        self._answers = answers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self) -> list[Any]:
        """Return the answers."""
        return self._answers


class Refusing(PlainRedis):
    """A Redis that refuses each result with `error`, and accepts events without one, which are its `events`."""

    def __init__(self, error: redis.RedisError) -> None:
        super().__init__()
        self._error, self._leaves = error, False
        self._last: bytes | None = None
        self.events = list[Event]()

    def pipeline(self, transaction: bool) -> "Refusing":
        """Begin a transaction."""
        assert transaction
        self._leaves = False
        return self

    def set(self, name: str, value: Any, ex: int) -> bool:
        """Note that the transaction has a result."""
        self._leaves = True
        return True

    def lpush(self, name: str, raw: memoryview) -> None:
        """Accept an event, unless it or the transaction has a result."""
        event = Event.unpack(bytes(raw))
        self._leaves |= event.result is not None
        if not self._leaves:
            self.events.append(event)

    def get(self, name: str) -> bytes | None:
        """The value that ends the transaction."""
        self._last = super().get(name)
        return self._last

    def execute(self) -> list[Any]:
        """Raise the error if the transaction has a result."""
        if self._leaves:
            raise self._error
        return [self._last]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (redis.ConnectionError("cut"), "Redis did not answer (ConnectionError)"),
        (OutOfMemoryError("maxmemory"), "Redis is full"),
    ],
)
def test_a_result_that_cannot_be_left_is_reported_as_missing(error: redis.RedisError, said: str) -> None:
    spec = PuzzleSpec("klotski")
    puzzle, connection = spec.build(), Refusing(error)
    connection.held[input_key("here", "1.0")] = pack_arrays([puzzle.keys([puzzle.start])])
    request = TaskRequest("here", "1.0", 1, -1, 9, spec.as_dict(), {**program_of(puzzle, "neighbours")})
    _perform(cast(redis.Redis, connection), None, "worker", "neighbours", **request.as_dict())
    assert [(event.kind, event.detail) for event in connection.events] == [("started", ""), ("missing", said)]


@pytest.mark.parametrize("harm", ["shorter", "another byte"])
def test_a_broken_piece_of_what_chunks_share_is_removed_and_sent_again(harm: str) -> None:
    spec, plain = PuzzleSpec("klotski"), PlainRedis()
    connection = cast(redis.Redis, plain)
    puzzle, shared = spec.build(), Shared(connection, harm, Tuning(keep=9))
    shared.become([puzzle.keys([]), np.zeros(3, dtype=np.uint64), puzzle.keys([puzzle.start])])
    shared.send()
    broken = [*plain.held][-1]
    value = plain.held[broken]
    plain.held[broken] = value[:-1] if harm == "shorter" else value[:-1] + bytes([value[-1] ^ 1])
    plain.held[input_key(harm, "1.0")] = pack_arrays([puzzle.keys([puzzle.start])])
    request = TaskRequest(harm, "1.0", 1, shared.number, 9, spec.as_dict(), {}, shared.pieces)
    given = plain.held[input_key(harm, "1.0")]
    assert _outcome(connection, "leading", request, Doer(puzzle), raw=given)[0] == "missing"
    assert broken not in plain.held
    shared.send()
    assert _outcome(connection, "leading", request, Doer(puzzle), raw=given)[0] == "done"


@pytest.mark.parametrize("read", [partial(unpacked, kind=kind) for kind in RESULTS])
@pytest.mark.parametrize("told", [None, b"\x91", b"\xa1", b"\x80\x80", b"\x81\x01\x01", b"\x81\xa3new\x01", b"\xc0"])
def test_an_answer_of_another_shape_is_refused(read: Callable[[Any], Any], told: bytes | None) -> None:
    """Another version may have other fields; or somebody else has written it."""
    with pytest.raises(PayloadError, match="is not readable"):
        read([] if told is None else [np.frombuffer(told, dtype=np.uint8)])


def test_what_others_keep_under_our_names_is_told_as_such() -> None:
    words = r"Redis at redis://den/0 holds a value of another type under a name of Hakoiri; use a Redis, or a database"
    with pytest.raises(WorkerError, match=words), redis_errors("redis://:secret@den/0"):
        raise redis.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")


def test_a_puzzle_is_built_once_for_all_requests_that_name_it() -> None:
    def built(spec: PuzzleSpec) -> Puzzle:
        doer = Doer.built(spec.as_dict())
        assert not differing_parts(*(program_of(each, "expand") for each in (doer.puzzle, spec.build())))
        return doer.puzzle

    one = built(PuzzleSpec("klotski"))
    assert built(PuzzleSpec("klotski")) is one
    other = built(PuzzleSpec("hanoi", {"discs": "3", "pegs": "3"}))
    assert other.name == "hanoi"
    assert [doer.puzzle for doer in doing._built.values()] == [other]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("redis://den:6379/0", "redis://den:6379/0"),
        ("redis://fox:secret@den:6379/0", "redis://den:6379/0"),
        ("rediss://:se@cret@den/1?ssl_cert_reqs=none", "rediss://den/1"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
        ("den", "den"),
        ("localhost:6379", "localhost:6379"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        # Where one is not written as it should be, whoever wrote it knows it.
        ("fox:secret@den:6379", "an address that is not readable"),
        (":secret@den", "an address that is not readable"),
        ("redis://:se/cret@den:6379/0", "an address that is not readable"),
        ("redis://:secret?@den", "an address that is not readable"),
        ("redis://[secret@den", "an address that is not readable"),
        # As is left of one that is cut off, or whose @ is another letter.
        ("redis://:secret", "an address that is not readable"),
        ("redis://fox:secret", "an address that is not readable"),
        ("redis://:secret`den:6379/0", "an address that is not readable"),
    ],
)
def test_no_password_is_told(url: str, told: str) -> None:
    assert without_password(url) == told
