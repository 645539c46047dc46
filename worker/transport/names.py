"""Every name that Hakoiri uses in Redis. A session is one process driving one run; a token names one of its chunks."""

import hashlib

#: RQ's queue for whoever comes first.
QUEUE = "hakoiri"
#: Pushed to when a run is queued, so that an idle coordinator looks at once.
WAKE = "hakoiri:wake"
#: Never there: a command that would remove it shows whether Redis takes commands that write.
PROBE = "hakoiri:probe"
#: The set of all workers that ever started; those without a `worker_key` are dead.
WORKERS = "hakoiri:workers"
#: The set of all hosts that ever kept ranges; those without a `worker_key` are away.
HOSTS = "hakoiri:hosts"
#: Which hosts are to keep nothing any more, with the process that each has now.
DRAINING = "hakoiri:draining"
#: What must lie under the names that all sessions share, those of RQ's queue with them: the type, as Redis calls it.
SHARED_TYPES = {
    WAKE: "list",
    WORKERS: "set",
    HOSTS: "set",
    DRAINING: "set",
    "rq:queues": "set",
    f"rq:queue:{QUEUE}": "list",
}


def own_queue(worker: str) -> str:
    """RQ's queue for what one worker had better do."""
    return f"{QUEUE}:{worker}"


def worker_key(worker: str) -> str:
    """Exists while the worker lives."""
    return f"hakoiri:worker:{worker}"


def witness_name(url: str) -> str:
    """The name of the connection by which a host shows that the data Redis at `url` is at its own address."""
    return f"hakoiri-data-{hashlib.sha256(url.encode()).hexdigest()[:32]}"


def event_key(session: str) -> str:
    """The list of events that workers report to the coordinator of a session."""
    return f"hakoiri:{session}:events"


def input_key(session: str, token: str) -> str:
    """The arrays of a chunk."""
    return f"hakoiri:{session}:in:{token}"


def shared_key(session: str, shared: int, piece: int) -> str:
    """A piece of the arrays that all chunks of a stage share."""
    return f"hakoiri:{session}:shared:{shared}.{piece}"


def result_key(session: str, token: str, attempt: int) -> str:
    """The result of one attempt at a chunk; each attempt has its own, so that a late one harms nobody."""
    return f"hakoiri:{session}:out:{token}:{attempt}"


def inbox_key(session: str, host: str, layer: int, attempt: int) -> str:
    """The list of messages to a host, in its data Redis, in one attempt at a layer."""
    return f"hakoiri:{session}:inbox:{host}:{layer}:{attempt}"
