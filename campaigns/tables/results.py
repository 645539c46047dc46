"""The results of all entries: `results.json`, a line for each, and the pages made of it."""

import hashlib
import json
import platform
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from campaigns.tables import atlas, papers
from campaigns.tables.entries import Part, answer_of
from campaigns.tables.picture import draw

RESULTS = Path(__file__).with_name("results.json")
PAGES = Path(__file__).resolve().parents[2] / "docs" / "reports"
#: By part and entry: the lines of the books.
Found = Mapping[str, Mapping[str, Mapping[str, Any]]]


def digest(text: str) -> str:
    """Return a short digest, for names of folders."""
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def read() -> Any:
    """Return the published results and the machine."""
    return answer_of(RESULTS.read_text(encoding="utf-8"))


def published() -> dict[str, dict[str, Any]]:
    """Return the published results, by part and entry."""
    return dict(read()["parts"])


def merged(before: Found, lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return results with those of the books in place of older ones."""
    found = defaultdict[str, dict[str, Any]](dict, {name: {**entries} for name, entries in before.items()})
    for line in lines:
        kept = {name: value for name, value in line.items() if name not in ("part", "entry", "certificate")}
        found[line["part"]][line["entry"]] = kept | {"certified": "certificate" in line}
    return found


def pages(parts: Mapping[str, Part], results: Mapping[str, Any]) -> dict[str, str]:
    """Return both pages as Markdown, by name."""
    chosen = {page: [part for part in parts.values() if part.page == page] for page in ("atlas", "papers")}
    machine, found = results["machine"], results["parts"]
    return {
        "atlas": atlas.page(chosen["atlas"], found, machine),
        "papers": papers.page(chosen["papers"], found, machine),
    }


def publish(parts: Mapping[str, Part], lines: Iterable[Mapping[str, Any]]) -> None:
    """Write the results, the pages, the picture and new certificates."""
    lines = list(lines)
    every = merged(published(), lines)
    found = {
        name: {entry.name: every[name][entry.name] for entry in part.entries if entry.name in every[name]}
        for name, part in parts.items()
    }
    for line in lines:
        if "certificate" in line:
            target = PAGES / atlas.certificate_of(line["part"], line["entry"])
            target.write_text(line["certificate"], encoding="utf-8")
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    listed = ",\n".join(
        f'"{name}": {{\n'
        + ",\n".join(f"{json.dumps(entry)}: {json.dumps(line, ensure_ascii=False)}" for entry, line in entries.items())
        + "\n}"
        for name, entries in found.items()
    )
    RESULTS.write_text(f'{{"machine": {json.dumps(machine)}, "parts": {{\n{listed}\n}}}}\n', encoding="utf-8")
    results = read()
    for name, text in pages(parts, results).items():
        (PAGES / f"{name}.md").write_text(text, encoding="utf-8")
    draw([part for part in parts.values() if part.page == "atlas"], results["parts"], PAGES / atlas.PICTURE)
