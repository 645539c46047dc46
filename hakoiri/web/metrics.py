"""Figures for Prometheus: the responses of this process, and the status of the runs."""

from collections import Counter as Count
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from hakoiri.storage.errors import GoneError
from hakoiri.storage.ledger.lock import is_served

if TYPE_CHECKING:
    from hakoiri.coordinator.runs.catalogue import RunStatus
    from hakoiri.web.runs.opened import OpenRuns
    from hakoiri.web.runs.streams import Streams

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Metrics:
    """The figures of one process; `streams` are its open streams of events."""

    def __init__(self, runs: "OpenRuns", streams: "Streams") -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "hakoiri_http_requests", "Requests that this process has answered.", ["method", "status"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "hakoiri_http_request_seconds", "How long they took.", buckets=_SECONDS, registry=self._registry
        )
        self._registry.register(_OfRuns(runs, streams))

    def count(self, method: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "DELETE") else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all figures, in the format of Prometheus."""
        return generate_latest(self._registry)


class _OfRuns(Collector):
    """Figures of the runs, collected on request."""

    def __init__(self, runs: "OpenRuns", streams: "Streams") -> None:
        self._runs, self._streams = runs, streams

    def collect(self) -> Iterable[Metric]:
        known = statuses(self._runs)
        counts = GaugeMetricFamily("hakoiri_runs", "Runs by status.", labels=["status"])
        for status, count in sorted(Count(found.status for found in known).items()):
            counts.add_metric([status], count)
        yield counts
        done = GaugeMetricFamily("hakoiri_run_done", "How far a run under way is.", labels=["run", "unit"])
        rate = GaugeMetricFamily("hakoiri_run_rate", "What it does in a second.", labels=["run", "unit"])
        for found in known:
            if found.status == "running":
                done.add_metric([found.run, found.state.progress.unit], found.state.progress.done)
                rate.add_metric([found.run, found.rate_unit], found.rate)
        yield from (done, rate)
        stored = sum(found.state.stored_bytes for found in known)
        yield GaugeMetricFamily("hakoiri_stored_bytes", "What the layers of all runs take on disk.", value=stored)
        yield GaugeMetricFamily("hakoiri_event_streams", "Open streams of events.", value=len(self._streams))
        served = is_served(self._runs.data)
        yield GaugeMetricFamily("hakoiri_coordinator", "Whether a coordinator takes queued runs.", value=int(served))


def statuses(runs: "OpenRuns") -> "list[RunStatus]":
    """Return the status of all runs."""
    found = []
    for directory in runs.directories():
        try:
            found.append(runs.status(directory))
        except GoneError:
            continue
    return found
