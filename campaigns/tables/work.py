"""One entry: its commands are run, what they found is verified, and all becomes a line of the books."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from typing import Any

from campaigns.tables.desk import Desk, bytes_in
from campaigns.tables.entries import Entry, Part, evaluated

#: Runs that take more on the disk are removed when they are verified and written down.
_KEPT_BYTES = 50_000_000
_FACTS = ("configurations", "seconds", "stored_bytes")
Row = Mapping[str, Any]


def carried_out(entry: Entry, desk: Desk, found: Mapping[str, Row]) -> dict[str, Any]:
    """Return the line of an entry; raises `StoppedError` and `FailedError`, and continues what was stopped.

    `found` are the rows of other entries of its part, for those without commands.
    """
    desks = [desk.beside(f"{number}") for number in range(len(entry.lines))]
    answers = [
        each.answer(line, () if number else entry.kills)
        for number, (each, line) in enumerate(zip(desks, entry.lines, strict=True))
    ]
    row = {name: evaluated(expression, {"a": answers, "found": found}) for name, expression in entry.row.items()}
    line = {"entry": entry.name, "asked": entry.asked, "commands": entry.commands(), "row": row,
            "costs": [vars(each.spent) for each in desks]}  # fmt: skip
    if entry.verify:
        run, beside = next(filter(None, answers)), desk.beside("verify")
        told = beside.answer(entry.verify)
        line |= {name: run.get(name) for name in _FACTS} | {"digest": run.get("digest") or digest_of(row)}
        line["verified"] = {"checked": told["checked"], "cost": vars(beside.spent)}
    if entry.certified:
        target = desk.folder / "certificate.json"
        desk.beside("certificate").answer(("export", "last", "--to", str(target)))
        line["certificate"] = target.read_text(encoding="utf-8")
    if bytes_in(desk.data) > _KEPT_BYTES:
        shutil.rmtree(desk.data)
    return line


def digest_of(row: Row) -> str:
    """Return a digest of what has none of its own: SHA-256 of its row as JSON, keys in order."""
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()


def unexpected(part: Part, line: Mapping[str, Any]) -> list[str]:
    """Values that are not the published ones, and claims whose verdict is not explained."""
    row = line["row"]
    published = part.published(line["entry"])
    claims = next((entry.claims for entry in part.entries if entry.name == line["entry"]), ())
    return [
        f"{line['entry']}: {column} is {row[column]}, {source} has {value}"
        for column, (value, source) in published.items() if row.get(column, value) != value
    ] + [
        f"{claim.name}: the paper has {claim.paper}, this is {row[claim.name]}"
        for claim in claims
        if claim.name in row and claim.verdict(row[claim.name]) in ("differs", "refuted") and not claim.why
    ]  # fmt: skip
