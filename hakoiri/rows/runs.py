"""The status of runs as plain values. Imports neither numpy nor numba.

The live hosts and workers as plain values.
"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hakoiri.coordinator.runs.summary import identity, standing
from hakoiri.coordinator.session.work_log import expander_rows
from hakoiri.hints import worded
from hakoiri.storage.ledger.lock import describe_holder

if TYPE_CHECKING:
    from hakoiri.coordinator.runs.catalogue import RunStatus
    from hakoiri.coordinator.session.check import Report

#: Fields that a list shows in other columns.
_NOT_DETAILS = {"run", "puzzle", "parameters", "kind", "start", "listed", "created"}
#: Endings of versions and digests, which pin a plan but do not interest a reader.
_PINS = ("_version", "_digest")
#: The counts of a host that keeps ranges, in bytes.
KEPT_BYTES = ("stored", "spilled", "sent", "received")
#: Letters of a value: a board of 5 x 8 cells.
_MOST_SHOWN = 48


def status_row(found: "RunStatus") -> dict[str, Any]:
    """Return the status of a run: the JSON of `status`, and a row of that of `runs`."""
    state = found.state
    # A damaged run has no manifest.
    known = identity(found.manifest) if found.manifest else {"run": found.run, "puzzle": "", "kind": "", "created": ""}
    return known | {
        "title": found.title,
        "details": _details(known),
        "status": found.status,
        **standing(state),
        "rate": round(found.rate),
        "rate_unit": found.rate_unit,
        "reason": worded(found.fault, found.fault.hints) if found.fault else worded(state.reason, state.hints),
        "holder": describe_holder(found.holder) if found.holder else "",
        "priority": found.manifest.setting("priority") if found.manifest else 0,
        "served": found.served,
        "made_as": found.made_as or None,
        "digest": state.digest,
        "keepers": list(found.keepers),
        # Filled in by callers that query Redis, and by those that open the run.
        "away": None,
        "can": None,
        "work_log": work_log_row(state.work_log),
    }


def _details(known: Mapping[str, Any]) -> str:
    """Return what a run was begun with on one line: options, start, goal and plan, long values cut."""
    if not known.get("kind"):
        return ""
    start = {} if known["start"] is None or known.get("starts") else {"from": known["start"]}
    plan = {name: value for name, value in known.items() if name not in _NOT_DETAILS and not name.endswith(_PINS)}
    values = {**known["parameters"], **start, **plan}
    told = []
    for name, value in values.items():
        if value not in (None, False, ""):
            text = ", ".join(str(value).splitlines())
            text = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
            told.append(name.replace("_", "-") + ("" if value is True else f"={text}"))
    return " ".join(told)


def work_log_row(work_log: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the counts of a run's work; ``None`` if threads of one process did all, whose host is ``None``.

    Also ``None`` if the stored counts are malformed.
    """
    if not work_log:
        return None
    try:
        layers = {
            str(maker): {"layers": int(number), "configurations": int(size)}
            for maker, (number, size) in work_log["layers"].items()
        }
        hosts = []
        for name, host in sorted(work_log["hosts"].items()):
            chunks = {str(task): int(number) for task, number in host["chunks"].items()}
            hosts.append({"host": str(name) or None, "workers": int(host["workers"]), "chunks": chunks})
        found = work_log.get("audit", {"chunks": 0, "untrusted": []})
        audit = {"chunks": int(found["chunks"]), "untrusted": [str(name) for name in found["untrusted"]]}
        expanders, repeated = expander_rows(work_log.get("expanders", {})), int(work_log.get("repeated", 0))
        return {
            "layers": layers, "expanders": expanders, "repeated": repeated, "hosts": hosts,
            "audit": audit if any(audit.values()) else None, "kept": _kept_rows(work_log),
            "here": str(work_log.get("here", "")) or None,
        }  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _kept_rows(work_log: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the figures of the hosts that keep ranges, and of the slowest one relative to the mean.

    That is the ratio over all layers, and the seconds of the layer with the greatest difference.
    """
    if "kept" not in work_log:
        return None
    hosts = [
        {"host": str(name), "waited": float(host["waited"])}
        | {what: int(host[what]) for what in ("ranges", "threads", "configurations", *KEPT_BYTES)}
        for name, host in sorted(work_log["kept"].items())
    ]
    mean, worst = float(work_log["mean"]), work_log["worst"]
    layer = {"depth": int(worst["depth"]), "host": str(worst["host"])} if worst else None
    if layer is not None:
        layer |= {what: float(worst[what]) for what in ("seconds", "mean")}
    slowest = float(work_log["slowest"]) / mean if mean else None
    return {"hosts": hosts, "slowest_over_mean": slowest, "slowest_layer": layer}


def report_row(report: "Report") -> dict[str, Any]:
    """Return the result of a verification."""
    found = {name: getattr(report, name) for name in ("ok", "complete", "sampled", "checked", "believed")}
    faults = [worded(fault, report.hints) for fault in report.faults]
    return found | {"seed": report.seed if report.sampled else None, "faults": faults, "cause": report.cause}


def living_rows(url: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the machines of live workers with their number, and the live hosts that keep runs with their threads.

    Raises `RedisUnavailableError` or `RedisRefusedError` if the Redis at `url` does not answer.
    """
    from hakoiri.worker.machine import host_of
    from hakoiri.worker.transport.connection import connect, living_hosts, living_workers, redis_errors

    connection = connect(url)
    try:
        with redis_errors(url):
            machines = Counter(map(host_of, sorted(living_workers(connection))))
            keepers = [{"host": name, "threads": beat.threads} for name, beat in living_hosts(connection).items()]
    finally:
        connection.close()
    return [{"host": host, "workers": count} for host, count in machines.items()], keepers
