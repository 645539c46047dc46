"""The RQ worker: no fork per job (5.7 ms a round trip against 29 ms), and only this project's tasks.

Contents of Redis are data: a job is a name from `worker.tasks.TASKS` and a msgpack map. RQ would also import callbacks
and call webhooks that a job names, and follow its times and repetitions; `TaskJob` reads none of these. RQ's
registries of workers are written, for `rq info` and dashboards, but not read. Its registries of jobs, their maintenance
and its command channel are not used, so that no entry there can end a worker.
"""

import math
import os
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from types import FrameType
from typing import Any, Protocol

import numpy as np
import redis
from rq import Queue, SimpleWorker
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.utils import now
from rq.worker import WorkerStatus
from rq.worker_registration import WORKERS_BY_QUEUE_KEY, clean_worker_registry

from hakoiri.errors import PayloadError, WorkerError, visible
from hakoiri.logs import log
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.ledger.manifest import decompressed, typed
from hakoiri.worker.doing import Doer, TaskOutcome
from hakoiri.worker.program import differing_parts, program_of
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport import payload
from hakoiri.worker.transport.connection import (
    QUEUE,
    begun_key,
    event_key,
    input_key,
    is_away,
    own_queue,
    result_key,
    shared_key,
)
from hakoiri.worker.transport.data_redis import DATA_REDIS, DataRedisPool
from hakoiri.worker.transport.payload import Arrays, MsgpackSerializer, TaskRequest, unpack_arrays

_MAX_DETAIL = 500
_SAME = "install the same Hakoiri on all machines"
#: Number of last chunks by which a worker with a deadline estimates the next.
_LATELY = 16
#: Pause of a worker after it has refused a chunk.
_REFUSAL_SECONDS = 1.0
#: The seconds for which RQ's tools show a worker after its last sign of life.
SHOWN_SECONDS = 10


class HostProtocol(Protocol):
    """A host that keeps ranges of runs (`worker.hosts.host`), and answers `tasks` of its own."""

    @property
    def tasks(self) -> Collection[str]:
        """The names of its tasks."""

    def perform(
        self, name: str, puzzle: Puzzle, session: str, shared: Arrays, chunk: Arrays, data_pool: DataRedisPool
    ) -> Arrays:
        """Return the answer to a request of task `name`; `PayloadError` if the layer must be begun anew."""


class TaskJob(Job):
    """An RQ job whose function comes from `TASKS` alone."""

    #: The host of the worker that makes the attempt, if it has one.
    host: HostProtocol | None = None

    @property
    def func(self) -> Callable[..., Any]:
        """The attempt at the task that the job names. Never imports."""
        return partial(_perform, self.connection, self.host, self.worker_name or "?", self.func_name or "")

    def refresh(self) -> None:
        """Read the job's data from Redis; if it has none, `NoSuchJobError`, at which RQ takes the next job."""
        self.origin = QUEUE
        try:
            self.data = decompressed(self.read() or b"")
        except (redis.ResponseError, ValueError) as error:
            raise NoSuchJobError(f"{self.key}: {error}") from error

    def read(self) -> Any:
        """Return the job's data in Redis, ``None`` without any."""
        return self.connection.hget(self.key, "data")


class TakenJob(TaskJob):
    """A job that a worker has taken from the queue: reading it removes it from Redis."""

    def read(self) -> Any:
        """Return the job's data, which Redis has no more."""
        pipeline = self.connection.pipeline(transaction=False)
        pipeline.hget(self.key, "data")
        pipeline.unlink(self.key)
        return pipeline.execute()[0]


class TaskQueue(Queue):
    """The one queue, with the job class and the serializer that all must use."""

    def __init__(self, name: str = QUEUE, connection: redis.Redis | None = None, **options: Any) -> None:
        options.update(job_class=TaskJob, serializer=MsgpackSerializer)
        super().__init__(name, connection=connection, **options)

    @classmethod
    def dequeue_any(cls, *arguments: Any, **options: Any) -> Any:
        """Return the next job; skip entries of the queue that are not the name of a job.

        `redis.ConnectionError`, at which RQ tries again, while Redis refuses to serve.
        """
        while True:
            try:
                return super().dequeue_any(*arguments, **options)
            except ValueError:
                continue
            except redis.ResponseError as error:
                if is_away(error):
                    raise redis.ConnectionError(str(error)) from error
                raise

    @classmethod
    def lmove(cls, connection: redis.Redis, queue_key: str, timeout: int | None) -> Any:
        """Take the next entry of a single queue, and leave no trace of it in a list that only RQ's registries empty."""
        return cls.lpop([queue_key], timeout, connection)


class TaskWorker(SimpleWorker):
    """Takes jobs from the one queue until asked to stop. Waits while Redis is away.

    It stops by itself when less time is left until `until` (`time.monotonic`) than the longest of its last chunks took.
    """

    job_class = TakenJob
    queue_class: type[Queue] = TaskQueue
    max_connection_wait_time = 2.0

    def __init__(
        self, name: str, connection: redis.Redis, host: HostProtocol | None = None, until: float = math.inf
    ) -> None:
        # A host takes only the jobs addressed to it.
        queues = [TaskQueue(connection=connection)] if host is None else []
        own = TaskQueue(own_queue(name), connection=connection)
        super().__init__(queues or [own], name=name, connection=connection, serializer=MsgpackSerializer)
        # Not entered in RQ's registry of queues, where it would stay for ever.
        self._ordered_queues = [own, *queues]
        self.log_job_description, self.host = False, host
        self._until, self._lately, self._done = until, deque([0.0], _LATELY), deque[str]()
        self._jobs, self._worked, self.birth_date = 0, 0.0, now()

    def print_done(self) -> None:
        """Log the chunks done since the last call, if any: ``host-17: 41 expand, 2 derive``."""
        done = Counter(self._done.popleft() for _ in range(len(self._done)))
        if done:
            log(f"{self.name}: {', '.join(f'{number} {task}' for task, number in done.items())}")

    @property
    def seconds_left(self) -> float:
        """The seconds until this worker stops taking chunks."""
        return self._until - time.monotonic() - max(self._lately)

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Do nothing, in place of what RQ does."""

    # `show` is called by a thread, and `worker.transport.connection.start_heartbeat` reports living workers.
    run_maintenance_tasks = heartbeat = subscribe = _nothing
    # Another program may have suspended its workers, and Hakoiri's would let runs wait silently.
    check_for_suspension = _nothing
    # The key would stay in Redis for ever.
    set_shutdown_requested_date = _nothing

    def register_birth(self) -> None:
        """Enter RQ's registries of workers, and remove those that have died."""
        self.show()
        with suppress(redis.RedisError):
            clean_worker_registry(self._ordered_queues[-1])

    def show(self) -> None:
        """Renew for some seconds the entry that `rq info` and RQ's dashboards show; any thread may call this."""
        self.last_heartbeat = now()
        figures = {"state": self._state, "successful_job_count": self._jobs, "total_working_time": self._worked}
        with suppress(redis.RedisError), self.connection.pipeline() as pipeline:
            pipeline.hset(self.key, mapping=self.serialize() | figures)
            pipeline.expire(self.key, SHOWN_SECONDS)
            pipeline.sadd(self.redis_workers_keys, self.key)
            if self.host is None:
                pipeline.sadd(WORKERS_BY_QUEUE_KEY % QUEUE, self.key)
            pipeline.execute()

    def register_death(self) -> None:
        """Leave RQ's registries."""
        with suppress(redis.RedisError):
            super().register_death()  # type: ignore[no-untyped-call]

    def _install_signal_handlers(self) -> None:
        super()._install_signal_handlers()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGALRM, lambda *_: self._shutdown())  # type: ignore[no-untyped-call]
        self._look_at_time()

    def request_force_stop(self, signum: int, frame: FrameType | None) -> None:
        """Break off the chunk at a second signal. IMPORTANT: not by `SystemExit`, which the rules may raise."""
        try:
            super().request_force_stop(signum, frame)
        except SystemExit:
            raise KeyboardInterrupt from None

    def _look_at_time(self) -> None:
        """Stop before the next chunk if no time is left, else set an alarm for the last moment to begin one."""
        if (left := self.seconds_left) < math.inf:
            self._stop_requested = self._stop_requested or left <= 0
            signal.setitimer(signal.ITIMER_REAL, max(left, 0))

    def set_state(self, state: str, pipeline: Any = None) -> None:
        """Set the state, busy or idle, in this process only; a request to stop depends on it."""
        self._state = state

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Make the attempt that a job requests; the job is in Redis no more.

        RQ would keep records of it, in some twenty round trips; the coordinator has its own, and reads none of RQ's.
        """
        self.set_state(WorkerStatus.BUSY)
        began, task = time.monotonic(), "?"
        # IMPORTANT: all that reads the job, which may be anything, or it could end the worker.
        try:
            job.worker_name = self.name
            if isinstance(job, TaskJob):
                job.host = self.host
            task = str(job.func_name or task)
            job.perform()
        except Exception:
            # Redis is away, or no coordinator made the job: a coordinator that waits for it sends it again.
            self.log.exception("job %s was broken off", visible(job.id))
        self.set_state(WorkerStatus.IDLE)
        self._lately.append(time.monotonic() - began)
        self._jobs, self._worked = self._jobs + 1, self._worked + self._lately[-1]
        self._look_at_time()
        self._done.append(task[:_MAX_DETAIL])


def _perform(
    connection: redis.Redis, host: HostProtocol | None, worker: str, task: str, session: str, token: str, attempt: int,
    keep: int, **rest: Any,
) -> None:  # fmt: skip
    """Make one attempt at one chunk and report to the coordinator. Raises nothing that concerns the chunk."""

    def report(kind: payload.EventKind, detail: object = "", result: bytes | None = None) -> Any:
        """Report; return what Redis holds as the input of the chunk, if the attempt has just begun."""
        # IMPORTANT: all or nothing, or late events of an ended session would stay for ever.
        pipeline, hints = connection.pipeline(transaction=True), getattr(detail, "hints", ())
        if result is not None and len(result) > payload.INLINE_BYTES:
            # If Redis refuses it, redis-py puts all of it into words, unless it is a view.
            pipeline.set(result_key(session, token, attempt), memoryview(result), ex=keep)
            result = None
        event = payload.Event(kind, token, attempt, worker, str(detail)[:_MAX_DETAIL], hints, result)
        name = (begun_key if kind == "started" else event_key)(session)
        pipeline.lpush(name, memoryview(event.pack()))
        pipeline.expire(name, keep)
        if kind == "started":
            pipeline.get(input_key(session, token))
        return pipeline.execute()[-1]

    # A coordinator that waits for a host watches its heartbeat instead.
    given = report("started") if host is None else None
    try:
        if task not in (host.tasks if host else TASKS):
            raise WorkerError(f"this worker has no task {task!r}; {_SAME}")
        try:
            fields = rest | {"session": session, "token": token, "attempt": attempt, "keep": keep}
            request = typed(fields, TaskRequest)
        except ValueError as error:
            raise WorkerError(f"this worker does not understand the request ({error}); {_SAME}") from error
        doer = Doer.built(request.puzzle)
        # Requests of hosts are covered as a whole.
        if parts := differing_parts(program_of(doer.puzzle, "" if host else task), request.program):
            raise WorkerError(f"its code differs from the run's: {', '.join(parts)}; {_SAME}")
    except (Exception, SystemExit) as error:
        report("refused", error)
        # Give other workers time to take the next chunks: refusing them all would be faster than doing any of them.
        time.sleep(_REFUSAL_SECONDS)
    else:
        try:
            report(*_outcome(connection, task, request, doer, host, given))
        except redis.RedisError as error:
            # If Redis answers again, the coordinator learns of it at once, and need not wait until it is overdue.
            report("missing", _fault(error))


def _outcome(
    connection: redis.Redis, task: str, request: TaskRequest, doer: Doer, host: HostProtocol | None = None,
    raw: Any = None,
) -> TaskOutcome:  # fmt: skip
    """Return the outcome of an attempt. `raw` is a chunk; the arrays of a host's request are still in Redis."""

    def result() -> Arrays:
        nonlocal raw
        shared = _shared_arrays(connection, request)
        if host is not None:
            raw = connection.get(input_key(request.session, request.token))
        if raw is None:
            raise PayloadError("its arrays are missing from Redis")
        if host is None:
            return doer.answer(task, raw, shared)
        chunk = unpack_arrays(raw)
        return host.perform(task, doer.puzzle, request.session, shared, chunk, _data_pool(connection))

    return TaskOutcome.of(lambda: _answered(result))


def _answered(work: Callable[[], Arrays]) -> Arrays:
    """Return the result of `work`; `PayloadError` if Redis does not answer it."""
    try:
        return work()
    except redis.RedisError as error:
        raise PayloadError(_fault(error)) from error


def _fault(error: redis.RedisError) -> str:
    if isinstance(error, redis.exceptions.OutOfMemoryError):
        return "Redis is full"
    return f"Redis did not answer ({type(error).__name__})"


@lru_cache(maxsize=1)
def _data_pool(connection: redis.Redis) -> DataRedisPool:
    return DataRedisPool(connection, os.environ.get(DATA_REDIS, ""))


_shared: dict[tuple[str, int], Arrays] = {}


def _shared_arrays(connection: redis.Redis, request: TaskRequest) -> Arrays:
    """Return the arrays shared by a stage, fetched once per process."""
    name = request.session, request.shared
    if request.pieces and name not in _shared:
        _shared.clear()
        ends = list(accumulate(request.pieces, initial=0))
        _shared[name] = [_joined(connection, request, range(*each)) for each in pairwise(ends)]
    return _shared[name] if request.pieces else ()


def _joined(connection: redis.Redis, request: TaskRequest, pieces: range) -> payload.Array:
    parts = []
    for piece in pieces:
        name = shared_key(request.session, request.shared, piece)
        raw: Any = connection.get(name)
        if raw is None:
            raise PayloadError("the arrays of its stage are missing from Redis")
        try:
            parts += unpack_arrays(raw)
        except PayloadError:
            # The coordinator sends missing pieces again.
            connection.unlink(name)
            raise
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
