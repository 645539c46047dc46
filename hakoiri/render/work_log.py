"""The counts of a run's work by host and worker, for people."""

from collections.abc import Mapping
from typing import Any

from hakoiri.puzzles.errors import counted
from hakoiri.rows.runs import KEPT_BYTES

#: "workers" and "cheaper" occur only in older runs.
_MAKERS = {
    "hosts": "by hosts",
    "workers": "by workers",
    "small": "here, too small to be handed out",
    "cheaper": "here, cheaper so",
    "threads": "here, by threads",
}


def work_log_facts(work_log: Mapping[str, Any] | None) -> dict[str, str]:
    """Return `hakoiri.rows.runs.work_log_row` by label; empty if threads of one process did all."""
    if work_log is None:
        return {}
    layers = [
        f"{counted(made['layers'], 'layers')} of {made['configurations']:,} configurations {_MAKERS.get(maker, maker)}"
        for maker, made in work_log["layers"].items()
    ]
    facts = {"made": "\n".join(layers), "chunks": "\n".join(map(_chunks, work_log["hosts"])) or "none handed out"}
    if work_log["kept"] is not None:
        facts["kept"] = "\n".join(map(_kept, work_log["kept"]["hosts"]))
        facts["slowest host"] = _slowest(**work_log["kept"])
    return facts | ({} if work_log["audit"] is None else {"audit": _audit(work_log["audit"])})


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
