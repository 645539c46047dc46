"""The RQ worker: no fork per job (5.7 ms a round trip against 29 ms), and nothing but this project's tasks.

What lies in Redis is data: a job is a name from `worker.tasks.TASKS` and a msgpack map. RQ would also import callbacks
and call webhooks that a job names; `TaskJob` drops them on reading.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import redis
from rq import Queue, SimpleWorker
from rq.job import Job

from puzzles.contract import Puzzle
from puzzles.jit import prepare
from puzzles.registry import PuzzleSpec
from worker.errors import PayloadError
from worker.tasks import TASKS, Arrays
from worker.transport.connection import get_bytes
from worker.transport.messages import Event, EventKind, MsgpackSerializer, TaskRequest
from worker.transport.names import QUEUE, event_key, input_key, result_key, shared_key
from worker.transport.payload import pack_arrays, unpack_arrays
from worker.warm import load_all_kernels

_MAX_DETAIL = 500


class TaskJob(Job):
    """An RQ job whose function comes from `TASKS` alone."""

    @property
    def func(self) -> Callable[..., Any]:
        """The task that the job names; ``LookupError`` for any other name. Never imports."""
        if self.func_name not in TASKS:
            raise LookupError(f"there is no task {self.func_name!r}")
        return partial(_perform, self.connection, self.worker_name or "?", self.func_name)

    def restore(self, raw_data: Any) -> Any:
        """Read a job from Redis, without the callbacks (RQ would import them) and webhooks (it would call them)."""
        result = super().restore(raw_data)
        self._success_callback_name = self._failure_callback_name = self._stopped_callback_name = None
        self.webhooks = []
        return result


class TaskQueue(Queue):
    """The one queue, with the job class and serializer that everybody must use."""

    def __init__(self, name: str = QUEUE, connection: redis.Redis | None = None, **options: Any) -> None:
        options.update(job_class=TaskJob, serializer=MsgpackSerializer)
        super().__init__(name, connection=connection, **options)


class TaskWorker(SimpleWorker):
    """Takes jobs from the one queue until told to stop. Waits for a Redis that went away."""

    job_class = TaskJob
    queue_class: type[Queue] = TaskQueue
    max_connection_wait_time = 2.0

    def __init__(self, name: str, connection: redis.Redis) -> None:
        queues = [TaskQueue(connection=connection)]
        super().__init__(queues, name=name, connection=connection, serializer=MsgpackSerializer)
        self.log_job_description = False


def _perform(connection: redis.Redis, worker: str, task: str, **fields: Any) -> None:
    """Do one attempt at one chunk and tell the coordinator. Raises nothing that concerns the chunk."""
    order = TaskRequest(**fields)
    _tell(connection, worker, order, "started")
    try:
        puzzle = _build_puzzle(order)
    except Exception as error:
        _tell(connection, worker, order, "refused", str(error))
        return
    try:
        shared = _shared_arrays(connection, order)
        raw = get_bytes(connection, input_key(order.session, order.token))
        if raw is None or shared is None:
            _tell(connection, worker, order, "missing")
            return
        chunk = unpack_arrays(raw)
    except PayloadError:
        _tell(connection, worker, order, "missing")
        return
    try:
        result = TASKS[task](puzzle, chunk, shared)
    except MemoryError:
        # Another machine may have more.
        _tell(connection, worker, order, "missing", "too little memory")
        return
    except Exception as error:
        _tell(connection, worker, order, "failed", f"{type(error).__name__}: {error}")
        return
    connection.set(result_key(order.session, order.token, order.attempt), pack_arrays(result), ex=order.keep)
    _tell(connection, worker, order, "done")


def _tell(connection: redis.Redis, worker: str, order: TaskRequest, kind: EventKind, detail: str = "") -> None:
    key = event_key(order.session)
    # IMPORTANT: both or neither, or news that come late, for nobody, would stay for ever.
    pipeline = connection.pipeline(transaction=True)
    pipeline.lpush(key, Event(kind, order.token, order.attempt, worker, detail[:_MAX_DETAIL]).pack())
    pipeline.expire(key, order.keep)
    pipeline.execute()


_puzzles: dict[str, Puzzle] = {}
_shared: dict[str, Arrays] = {}


def _build_puzzle(order: TaskRequest) -> Puzzle:
    """The puzzle of an order, built once per process, its kernels compiled by one process for all.

    IMPORTANT: an order names a puzzle that is here already; nothing is imported for it but Hakoiri's own modules.
    """
    name = repr(sorted(order.puzzle.items()))
    if name not in _puzzles:
        _puzzles.clear()
        puzzle = PuzzleSpec.from_dict(order.puzzle).build()
        prepare(lambda: load_all_kernels(puzzle))
        _puzzles[name] = puzzle
    puzzle = _puzzles[name]
    if puzzle.version != order.puzzle_version:
        raise ValueError(
            f"this worker has version {puzzle.version} of {puzzle.name}, the run needs {order.puzzle_version}; "
            "install the same Hakoiri on all machines"
        )
    return puzzle


def _shared_arrays(connection: redis.Redis, order: TaskRequest) -> Arrays | None:
    """The arrays shared by a stage, fetched once per process; ``None`` if Redis has lost them."""
    if order.stage < 0:
        return ()
    key = shared_key(order.session, order.stage)
    if key not in _shared:
        raw = get_bytes(connection, key)
        if raw is None:
            return None
        _shared.clear()
        _shared[key] = unpack_arrays(raw)
    return _shared[key]
