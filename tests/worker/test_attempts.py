"""A Redis that is full, does not answer, or has other things in it: the coordinator is told, and so is the user."""

from typing import Any, cast

import pytest
import redis
from redis.exceptions import OutOfMemoryError

from puzzles.registry import PuzzleSpec
from tests.support.engine import PlainRedis
from worker.errors import WorkerError
from worker.transport.connection import redis_errors
from worker.transport.messages import TaskRequest
from worker.transport.names import input_key
from worker.transport.payload import pack_arrays
from worker.transport.rq_worker import _outcome


class Refusing(PlainRedis):
    """Lets nobody leave anything."""

    def __init__(self, error: redis.RedisError) -> None:
        super().__init__()
        self._error = error

    def set(self, name: str, value: Any, ex: int) -> bool:
        raise self._error


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
    request = TaskRequest("here", "1.0", 1, -1, 9, spec.as_dict(), puzzle.version)
    assert _outcome(cast(redis.Redis, connection), "neighbours", request, puzzle) == ("missing", said)


def test_what_others_keep_under_our_names_is_told_as_such() -> None:
    words = (
        r"Redis at redis://den/0 holds something else under a name of Hakoiri's; give Hakoiri a Redis, or a database"
    )
    with pytest.raises(WorkerError, match=words), redis_errors("redis://:secret@den/0"):
        raise redis.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")
