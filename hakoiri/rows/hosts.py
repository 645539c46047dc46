"""The live hosts and workers as plain values."""

from collections import Counter
from typing import Any


def living_rows(url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the machines of live workers with their number, and the live hosts that keep runs with their threads.

    Raises `RedisUnavailableError` or `RedisRefusedError` if the Redis at `url` does not answer.
    """
    from hakoiri.worker.transport.connection import connect, host_of, living_hosts, living_workers, redis_errors

    connection = connect(url)
    try:
        with redis_errors(url):
            machines = Counter(map(host_of, sorted(living_workers(connection))))
            keepers = [{"host": name, "threads": beat.threads} for name, beat in living_hosts(connection).items()]
    finally:
        connection.close()
    return [{"host": host, "workers": count} for host, count in machines.items()], keepers
