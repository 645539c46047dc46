"""The errors between a coordinator, Redis and the workers.

WorkerError (HakoiriError)
├── RedisUnavailableError (ConnectionError)  no Redis there, or it was away for too long
├── RedisRefusedError (PermissionError)      wrong or missing password, or a command it does not allow
├── PayloadError (ValueError)                bytes from Redis that are damaged, or lost with a data Redis
└── TaskError                                a task raised: a mistake in a puzzle, or too little memory
"""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from hakoiri.puzzles.errors import HakoiriError

_Told = TypeVar("_Told")
_Read = TypeVar("_Read")


class WorkerError(HakoiriError):
    """The base of everything below."""


class RedisUnavailableError(WorkerError, ConnectionError):
    """Redis does not answer."""


class RedisRefusedError(WorkerError, PermissionError):
    """Redis answers, but refuses the login or the command."""


class PayloadError(WorkerError, ValueError):
    """A payload is damaged, or was not made by Hakoiri."""


class TaskError(WorkerError):
    """A task failed by itself; another attempt would fail again."""


def refusing(read: Callable[[_Told], _Read]) -> Callable[[_Told], _Read]:
    """Wrap a function that decodes a worker's reply, so that it raises `PayloadError` for one of another shape."""

    @wraps(read)
    def read_or_refuse(told: _Told) -> _Read:
        try:
            return read(told)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise PayloadError(f"a message of a worker is not readable: {type(error).__name__}: {error}") from error

    return read_or_refuse
