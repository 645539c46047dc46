"""What can go wrong between a coordinator, Redis and the workers.

WorkerError (HakoiriError)
├── RedisUnavailableError (ConnectionError)  no Redis there, or it was away for too long
├── RedisRefusedError (PermissionError)      wrong or missing password, or a command it does not allow
├── PayloadError (ValueError)                bytes from Redis that are not what a task takes or gives
└── TaskError                                a task raised: a mistake in a puzzle, or too little memory
"""

from puzzles.errors import HakoiriError


class WorkerError(HakoiriError):
    """The base of everything below."""


class RedisUnavailableError(WorkerError, ConnectionError):
    """Redis does not answer."""


class RedisRefusedError(WorkerError, PermissionError):
    """Redis answers, but not to us."""


class PayloadError(WorkerError, ValueError):
    """A payload is damaged or not one of ours."""


class TaskError(WorkerError):
    """A task failed of itself; another attempt would fail again."""
