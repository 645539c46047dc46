"""The machines that work, as plain values."""

from collections import Counter
from collections.abc import Iterable
from typing import Any


def host_rows(living: Iterable[str]) -> list[dict[str, Any]]:
    """The machines of living workers: their names, and how many workers each has."""
    from hakoiri.worker.transport.connection import host_of

    return [{"host": host, "workers": count} for host, count in Counter(map(host_of, sorted(living))).items()]
