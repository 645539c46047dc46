"""Every name that Hakoiri uses in Redis. A session is one process driving one run; a token names one of its chunks."""

import re

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
#: The hosts that are to keep nothing any more.
DRAINING = "hakoiri:draining"
#: The type, as Redis calls it, of the values under the names that all sessions share, including those of RQ's queue.
SHARED_TYPES = {
    WAKE: "list",
    WORKERS: "set",
    HOSTS: "set",
    DRAINING: "set",
    "rq:queues": "set",
    f"rq:queue:{QUEUE}": "list",
}


_HOST = re.compile(r"[\w.-]{1,200}")


def is_host_name(text: str) -> bool:
    """Return whether a host may have this name."""
    return _HOST.fullmatch(text) is not None


def own_queue(worker: str) -> str:
    """Return RQ's queue for the tasks of one worker."""
    return f"{QUEUE}:{worker}"


def worker_key(worker: str) -> str:
    """Return the key that exists while the worker lives."""
    return f"hakoiri:worker:{worker}"


def event_key(session: str) -> str:
    """Return the key of the list of events that workers report to the coordinator of a session."""
    return f"hakoiri:{session}:events"


def input_key(session: str, token: str) -> str:
    """Return the key of the arrays of a chunk."""
    return f"hakoiri:{session}:in:{token}"


def shared_key(session: str, shared: int, piece: int) -> str:
    """Return the key of a piece of the arrays that all chunks of a stage share."""
    return f"hakoiri:{session}:shared:{shared}.{piece}"


def result_key(session: str, token: str, attempt: int) -> str:
    """Return the key of the result of one attempt at a chunk; late attempts overwrite nothing."""
    return f"hakoiri:{session}:out:{token}:{attempt}"


def inbox_key(session: str, host: str, layer: int, attempt: int) -> str:
    """Return the key of the list of messages to a host, in its data Redis, in one attempt at a layer."""
    return f"hakoiri:{session}:inbox:{host}:{layer}:{attempt}"
