"""The counts of a run's work by host and worker, for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from hakoiri.puzzles.errors import counted
from hakoiri.rows.runs import KEPT_BYTES

#: Expanders that are listed.
_SHOWN = 12
#: What runs are said to have been made by, of which "cheaper" occurs only in older ones.
_HERE = ("small", "cheaper", "threads")


def work_log_facts(work_log: Mapping[str, Any] | None) -> dict[str, str]:
    """Return `hakoiri.rows.runs.work_log_row` by label; empty if threads of one process did all."""
    if work_log is None:
        return {}
    facts = {"expanded": expanded_text(work_log)}
    if by := [_expander(row) for row in work_log["expanders"]]:
        more = [f"and {len(by) - _SHOWN:,} more"] if len(by) > _SHOWN else []
        facts["by"] = "\n".join(by[:_SHOWN] + more)
    if work_log["repeated"]:
        facts["sent again"] = counted(work_log["repeated"], "chunks")
    facts["chunks"] = "\n".join(map(_chunks, work_log["hosts"])) or "none handed out"
    if work_log["kept"] is not None:
        facts["kept"] = "\n".join(map(_kept, work_log["kept"]["hosts"]))
        facts["slowest host"] = _slowest(**work_log["kept"])
    return facts | ({} if work_log["audit"] is None else {"audit": _audit(work_log["audit"])})


def expanded_text(work_log: Mapping[str, Any]) -> str:
    """Return who expanded the layers: ``168 layers: 3 here, 165 by 2 workers in 371 chunks``; empty without layers."""
    makers, expanders = work_log["layers"], work_log["expanders"]
    here = sum(makers[maker]["layers"] for maker in _HERE if maker in makers)
    parts = [f"{here:,} here"] if here else []
    if "workers" in makers:
        workers = [row for row in expanders if row["name"] not in (None, *_hosts(work_log))]
        chunks = f" in {counted(sum(row['chunks'] for row in workers), 'chunks')}" if workers else ""
        parts.append(f"{makers['workers']['layers']:,} by {_several(workers, 'workers')}{chunks}")
    if "hosts" in makers:
        parts.append(f"{makers['hosts']['layers']:,} by {_several(_hosts(work_log), 'hosts')}")
    total = sum(made["layers"] for made in makers.values())
    return f"{counted(total, 'layers')}: {', '.join(parts)}" if total else ""


def expanders_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return who made a layer: ``2 others and threads, 5 chunks``; ``here`` if a process made it at once."""
    others = [row for row in rows if row["name"] is not None]
    if not others:
        return "here"
    chunks = counted(sum(row["chunks"] for row in rows), "chunks")
    by = others[0]["name"] if len(others) == 1 else f"{len(others)} others"
    return f"{by}{' and threads' if len(others) < len(rows) else ''}, {chunks}"


def _several(names: Sequence[object], what: str) -> str:
    """Return how many there are; runs of earlier versions do not know."""
    return counted(len(names), what) if names else what


def _hosts(work_log: Mapping[str, Any]) -> list[str]:
    return [] if work_log["kept"] is None else [host["host"] for host in work_log["kept"]["hosts"]]


def _expander(row: Mapping[str, Any]) -> str:
    done = f"{counted(row['chunks'], 'chunks')} of {row['configurations']:,} configurations in {row['seconds']:.2f} s"
    if row["name"] is None:
        return f"threads here: {done}"
    return f"{row['name']}: {done}, {row['sent'] / 1e6:.2f} MB sent, {row['received'] / 1e6:.2f} MB received"


def _audit(audit: Mapping[str, Any]) -> str:
    wrong = ", ".join(audit["untrusted"])
    found = f"excluded because they were wrong: {wrong}" if wrong else "no worker was wrong"
    return f"{counted(audit['chunks'], 'chunks')} computed again here; {found}"


def _slowest(slowest_over_mean: float | None, slowest_layer: Mapping[str, Any] | None, **_: Any) -> str:
    if slowest_over_mean is None or slowest_layer is None:
        return "not known"
    layer = "most in layer {depth}, where {host} took {seconds:.1f} s and the mean was {mean:.1f} s"
    return f"{slowest_over_mean:.2f} times the mean, {layer.format(**slowest_layer)}"


def _kept(host: Mapping[str, Any]) -> str:
    done = f"{host['configurations']:,} configurations in {counted(host['ranges'], 'ranges')} by {host['host']}"
    moved = ", ".join(f"{host[what] / 1e6:.1f} MB {what}" for what in KEPT_BYTES)
    return f"{done}, {counted(host['threads'], 'threads')}: {moved}, waited {host['waited']:.1f} s for others"


def _chunks(host: Mapping[str, Any]) -> str:
    done = ", ".join(f"{number:,} {task}" for task, number in host["chunks"].items())
    if host["host"] is None:
        return f"{done} by this process, without workers"
    return f"{done} by {counted(host['workers'], 'workers')} of {host['host']}"
