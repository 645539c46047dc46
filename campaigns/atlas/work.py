"""One entry of the atlas: its commands are given, what they found is verified, and all becomes a line of the books."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaigns.atlas.entries import Answer, Entry, Part, Row, digest_of
from campaigns.atlas.measuring import Cost, Desk, FailedError, bytes_in

#: Runs that take more on the disk are removed when they are verified and written down.
_KEPT_BYTES = 50_000_000


def carried_out(entry: Entry, desk: Desk) -> dict[str, Any]:
    """The line of an entry; raises `StoppedError` and `FailedError`, and goes on where an earlier call was stopped."""
    desks = [desk.beside(f"{number}") for number in range(len(entry.lines))]
    answers = [
        each.answer(line, () if number else entry.kills)
        for number, (each, line) in enumerate(zip(desks, entry.lines, strict=True))
    ]
    verified = _verified(desk, entry.verify)
    return _line(entry, answers, [each.spent for each in desks], verified) | _certificate(entry, desk, "last")


def finished(entry: Entry, run: Path, desk: Desk) -> dict[str, Any]:
    """The line of an entry whose run is there, in a folder of its own: with the time that its record tells.

    Raises `FailedError` for one that has not come to its end.
    """
    status = desk.beside("status").answer(("status", run.name))
    if status["status"] != "complete":
        raise FailedError(f"{run}: it is {status['status']}")
    answer = desk.beside("0").answer(("resume", run.name))
    cost = Cost(answer["seconds"], None, None, bytes_in(run), 0)
    verified = _verified(desk, ("verify", run.name))
    return _line(entry, [answer], [cost], verified) | _certificate(entry, desk, run.name)


def _certificate(entry: Entry, desk: Desk, run: str) -> dict[str, str]:
    if not entry.certified:
        return {}
    target = desk.folder / "certificate.json"
    desk.beside("certificate").answer(("export", run, "--to", str(target)))
    return {"certificate": target.read_text(encoding="utf-8")}


def _verified(desk: Desk, line: Sequence[str]) -> dict[str, Any]:
    beside = desk.beside("verify")
    found = beside.answer(line)
    return {"sampled": found.get("sampled", False), "checked": found["checked"], "cost": vars(beside.spent)}


def _line(entry: Entry, answers: Sequence[Answer], costs: Sequence[Cost], verified: dict[str, Any]) -> dict[str, Any]:
    # What prints a file answers nothing.
    rows, run = entry.rows(answers), next(filter(None, answers))
    return {
        "entry": entry.name, "commands": entry.commands(), "rows": rows, "digest": run["digest"] or digest_of(rows),
        "configurations": run["configurations"], "computing_seconds": run["seconds"],
        "stored_bytes": run["stored_bytes"], "costs": [vars(cost) for cost in costs], "verified": verified,
    }  # fmt: skip


def tidied(desk: Desk) -> None:
    """Remove the runs of an entry that is written down, if they are large."""
    if bytes_in(desk.data) > _KEPT_BYTES:
        shutil.rmtree(desk.data)


def known_otherwise(part: Part, rows: Sequence[Row]) -> list[str]:
    """Values that are not the published ones; rows of earlier versions may lack some."""
    return [
        f"{row['row']}: {column} is {row[column]}, {known['source']} has {known['value']}"
        for row in rows for column, known in part.published(row).items()
        if column in row and row[column] != known["value"]
    ]  # fmt: skip
