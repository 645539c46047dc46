"""The hosts that work, as plain values."""

from collections.abc import Mapping
from typing import Any


def host_rows(living: Mapping[str, str]) -> list[dict[str, Any]]:
    """The hosts of living workers: their names, how many workers each has, in which data Redis these leave pieces."""
    from hakoiri.worker.transport.connection import host_of, without_password

    found: dict[str, list[str]] = {}
    for worker in sorted(living):
        found.setdefault(host_of(worker), []).append(living[worker])
    return [
        {"host": host, "workers": len(urls), "data_redis": sorted({without_password(url) for url in urls if url})}
        for host, urls in found.items()
    ]
