"""The errors between a coordinator, Redis and the workers.

WorkerError (HakoiriError)
├── RedisUnavailableError (ConnectionError)  no Redis there, or it was away for too long
├── RedisRefusedError (PermissionError)      wrong or missing password, or a command it does not allow
├── PayloadError (ValueError)                bytes from Redis that are damaged, or lost with a data Redis
└── TaskError                                a task raised: a mistake in a puzzle, or too little memory
"""

from hakoiri.puzzles.errors import HakoiriError


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
