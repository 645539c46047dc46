"""Connections to Redis with errors translated to Hakoiri's, living workers, and every name that is used in Redis."""

import logging
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.exceptions import MasterDownError, NoPermissionError, ReadOnlyError, RedisError, ResponseError
from redis.retry import Retry

from hakoiri.errors import Hint, RedisRefusedError, RedisUnavailableError, WorkerError
from hakoiri.logs import log

#: RQ's queue for any worker.
QUEUE = "hakoiri"
#: Pushed to when a run is queued, so that an idle coordinator reacts at once.
WAKE = "hakoiri:wake"
#: Never exists: a command that would remove it shows whether Redis accepts writes.
PROBE = "hakoiri:probe"
#: The set of all workers that ever started; those without a `worker_key` are dead.
WORKERS = "hakoiri:workers"
#: The set of all hosts that ever kept ranges; those without a `worker_key` are away.
HOSTS = "hakoiri:hosts"
#: The hosts that are to keep nothing any more, until they are started again.
DRAINING = "hakoiri:draining"
#: The type, as Redis calls it, of the values under the names that all sessions share, including those of RQ's queue.
SHARED_TYPES = {
    WAKE: "list", WORKERS: "set", HOSTS: "set", DRAINING: "set", "rq:queues": "set", f"rq:queue:{QUEUE}": "list",
}  # fmt: skip


_HOST = re.compile(r"[\w.-]{1,200}")


#: RQ's queue for the tasks of one worker, and the key that exists while a worker or host lives, by its name.
own_queue, worker_key = f"{QUEUE}:{{}}".format, "hakoiri:worker:{}".format
#: The list of events that workers report to the coordinator of a session, by the session.
event_key = "hakoiri:{}:events".format
#: The list of those that say only that a worker has begun a chunk, for which the coordinator does not wake up.
begun_key = "hakoiri:{}:begun".format
#: The arrays of a chunk, by session and token.
input_key = "hakoiri:{}:in:{}".format
#: A piece of the arrays that all chunks of a stage share, by session, number of these arrays, and piece.
shared_key = "hakoiri:{}:shared:{}.{}".format
#: A large result of one attempt at a chunk, by session, token and attempt; late attempts overwrite nothing.
result_key = "hakoiri:{}:out:{}:{}".format
#: The list of messages to a host, in its data Redis, by session, host, layer and attempt.
inbox_key = "hakoiri:{}:inbox:{}:{}:{}".format


def is_host_name(text: str) -> bool:
    """Return whether a host may have this name."""
    return _HOST.fullmatch(text) is not None


_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 15.0
#: Seconds between the beats of a worker, and of silence after which it is taken for dead.
BEAT_SECONDS, ALIVE_SECONDS = 1.0, 5
#: A worker that ends waits for Redis no longer than this.
_FAREWELL_SECONDS = 3.0
#: Refusals without an exception of their own. UNBLOCKED ends blocking commands when Redis becomes a replica.
_REFUSALS = re.compile(r"(?:^|caused error: )(?:BUSY|MISCONF|NOREPLICAS|UNBLOCKED)\b")
#: A URL without user and password: scheme, host and port, path. Text after another colon may be a password.
_ADDRESS = re.compile(r"(\w+://)?((\[[\da-fA-F:.]+\]|[\w.-]+)(:\d+)?)?(/[^:@]*)?")


_answered = set[str]()


def connect(url: str) -> redis.Redis:
    """Return a connection that has answered a ping.

    Raises `RedisUnavailableError`, `RedisRefusedError`, and `WorkerError` for a malformed URL.
    """
    with redis_errors(url):
        shown = without_password(url)
        scheme, _, rest = url.partition("://")
        if scheme != "unix" and set(rest.rpartition("@")[0]) & set("/?#["):
            raise WorkerError(
                f"{shown!r} is not a Redis URL; percent-encode the password (/ is %2F, # is %23, [ is %5B)"
            )
        try:
            connection = redis.Redis.from_url(
                url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=_ANSWER_SECONDS,
                # No attempts here, but a new connection for the next one: after a failover to the new master.
                retry=Retry(NoBackoff(), 0), retry_on_error=[ReadOnlyError, MasterDownError],
            )  # fmt: skip
            # Options are read when a connection is made.
            connection.connection_pool.make_connection()
        except TypeError as error:
            unknown = str(error).rpartition(" ")[2]
            tls = "; options of TLS need rediss://" if unknown.startswith("'ssl_") else ""
            raise WorkerError(f"Redis at {shown}: its URL has the unknown option {unknown}{tls}") from None
        except ValueError:
            raise WorkerError(
                f"{shown!r} is not a Redis URL; expected redis://HOST:PORT/0, or rediss:// for TLS"
            ) from None
        connection.ping()
        _answered.add(url)
        return connection


def has_answered(url: str) -> bool:
    """Return whether Redis at a URL has answered this process before: then it comes back, and the URL is right."""
    return url in _answered


def is_away(error: RedisError) -> bool:
    """Return whether Redis does not answer, or refuses to serve for now: a replica, or busy with a disk or a script."""
    refuses = isinstance(error, ReadOnlyError | MasterDownError) or _REFUSALS.search(str(error)) is not None
    return isinstance(error, redis.ConnectionError | redis.TimeoutError) or refuses


@contextmanager
def redis_errors(url: str) -> Iterator[None]:
    """Translate Redis's errors to Hakoiri's, naming the server and the next step."""
    where = without_password(url)
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError, NoPermissionError) as error:
        raise refused(where) from error
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise RedisUnavailableError(
            f"no Redis answers at {where}; start one with redis-server", Hint("change", "redis")
        ) from error
    except ResponseError as error:
        if str(error).startswith(("NOAUTH", "WRONGPASS", "ERR AUTH")):
            raise refused(where) from error
        if "WRONGTYPE" in str(error):
            raise _taken(where, "a value of another type under a name of Hakoiri") from error
        if is_away(error):
            raise RedisUnavailableError(f"Redis at {where} does not answer commands: {error}") from error
        raise WorkerError(f"Redis at {where} refused a command: {error}") from error
    except RedisError as error:
        raise WorkerError(f"Redis at {where}: {error}") from error


def require_own_names(connection: redis.Redis, url: str) -> None:
    """Raise `WorkerError` if another program has stored values of another type under a name that all sessions share."""
    with redis_errors(url):
        pipeline = connection.pipeline(transaction=False)
        for name in SHARED_TYPES:
            pipeline.type(name)
        found = map(_text, pipeline.execute())
    for (name, expected), kind in zip(SHARED_TYPES.items(), found, strict=True):
        if kind not in (expected, "none"):
            raise _taken(without_password(url), f"a {kind} under {name!r}, expected a {expected}")


def _taken(where: str, what: str) -> WorkerError:
    step = "use a Redis, or a database of it, that no other program uses"
    return WorkerError(f"Redis at {where} holds {what}; {step}")


def refused(where: str) -> RedisRefusedError:
    """Return the error for a wrong or missing password."""
    return RedisRefusedError(
        f"Redis at {where} rejects the user or password; set HAKOIRI_REDIS=redis://:PASSWORD@HOST:PORT/0"
    )


def without_password(url: str) -> str:
    """Return scheme, host, port and database only; a placeholder if a password may be anywhere else in the URL."""
    plain = url.partition("?")[0]
    with suppress(ValueError):
        scheme, host, *rest = urlsplit(url)
        if scheme and "@" in host and "@" not in "".join(rest):
            plain = f"{scheme}://{host.rpartition('@')[2]}{rest[0]}"
    return plain if _ADDRESS.fullmatch(plain) else "an address that is not readable"


def start_heartbeat(
    worker: str, connection: redis.Redis, parent: int | None, say: Callable[[], str] = str, members: str = WORKERS,
    place: str = "",
) -> Callable[[], None]:  # fmt: skip
    """Report `worker` as alive in Redis, now and from a thread; the thread ends this process when its parent is gone.

    It also ends a host at a `place` if one at another place sends the same heartbeat.

    Return a function that ends this and reports it as dead, so that no coordinator waits for its heartbeat to expire.

    Each beat holds the text of `say`: empty for a worker, a `HostBeat` for one of the HOSTS. RQ's own registry is no
    help: a worker that does not fork sends no heartbeat during a job, and its entry outlives it by minutes.

    IMPORTANT: the first beat is sent before this returns, so that no chunk is begun by a worker that seems dead.
    """
    ending = threading.Event()

    def beat() -> object:
        """Return the heartbeat before this one, if there is a `place`."""
        said = say()
        with suppress(redis.RedisError):  # Redis is away; the work loop waits for it too.
            pipeline = connection.pipeline(transaction=False)
            pipeline.sadd(members, worker)
            pipeline.set(worker_key(worker), said, ex=ALIVE_SECONDS, get=bool(place))
            return pipeline.execute()[-1]
        return None

    def go_on_beating() -> None:
        while parent is None or os.getppid() == parent:
            if ending.wait(BEAT_SECONDS):
                forget_worker(worker, connection)
                return
            if _is_elsewhere(beat(), place):
                log(f"worker process {os.getpid()}: {_two_hosts(worker)}", level=logging.ERROR)
                break
        os._exit(1)

    def end() -> None:
        ending.set()
        thread.join(_FAREWELL_SECONDS)

    beat()
    thread = threading.Thread(target=go_on_beating, name="heartbeat", daemon=True)
    thread.start()
    return end


def forget_worker(worker: str, connection: redis.Redis) -> None:
    """Declare a worker dead at once: it ends, or its parent has seen it end."""
    with suppress(redis.RedisError):
        connection.delete(worker_key(worker))


class HostBeat(NamedTuple):
    """The heartbeat of a host: its present process, its number of threads, and the URL of its data Redis, if any.

    The name of the process ends with the place of its directory. If it is `idle`, it waits for requests.
    """

    process: str
    threads: int
    url: str
    idle: bool = False

    def __str__(self) -> str:
        return f"{self.process} {self.threads} {self.url} {self.idle:d}"

    @classmethod
    def read(cls, text: str) -> "HostBeat | None":
        """The inverse of `str`; ``None`` for anything else."""
        parts = text.split(" ")
        known = len(parts) == 4 and re.fullmatch(r"\d{1,9}", parts[1])
        return cls(parts[0], int(parts[1]), parts[2], parts[3] == "1") if known else None


def require_own_name(connection: redis.Redis, host: str, place: str) -> None:
    """Raise `WorkerError` if a host at another place sends heartbeats of `host`; wait until a dead one is forgotten."""
    before: float = math.inf
    # In its last millisecond a heartbeat has 0 left, and is still there.
    while _is_elsewhere(connection.get(worker_key(host)), place) and (left := connection.pttl(worker_key(host))) >= 0:
        if left > before - 1000 * BEAT_SECONDS:
            raise WorkerError(_two_hosts(host))
        before = left
        time.sleep(1.5 * BEAT_SECONDS)


def _is_elsewhere(said: object, place: str) -> bool:
    beat = HostBeat.read(_text(said)) if isinstance(said, bytes) else None
    return beat is not None and beat.process.rpartition("-")[2] != place


def _two_hosts(name: str) -> str:
    return f"two hosts have the name {name}, because a directory was copied; remove the file 'host' from one of them"


def living_hosts(connection: redis.Redis) -> dict[str, HostBeat]:
    """Return all living hosts by name; hosts that are away are forgotten until they are back.

    IMPORTANT: the URL of a data Redis holds a password.
    """
    living = living_workers(connection, HOSTS)
    beats = {name: HostBeat.read(text) for name, text in living.items() if is_host_name(name)}
    return {name: beat for name, beat in beats.items() if beat is not None}


def draining_hosts(connection: redis.Redis) -> set[str]:
    """Return the hosts that are to keep nothing any more."""
    return {_text(host) for host in connection.smembers(DRAINING)}


def living_workers(connection: redis.Redis, members: str = WORKERS) -> dict[str, str]:
    """Return all living workers, or hosts, by name, with the text of their heartbeats; forget the dead ones."""
    known = sorted(_text(name) for name in connection.smembers(members))
    beats = connection.mget([worker_key(name) for name in known]) if known else []
    living = {name: _text(beat) for name, beat in zip(known, beats, strict=True) if beat is not None}
    if dead := set(known) - living.keys():
        connection.srem(members, *dead)
    return living


def _text(name: bytes | str) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name
