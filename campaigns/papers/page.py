"""The page `docs/reports/papers.md`, made of `results.json`, which is made of the books of the campaign."""

import json
import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from campaigns.atlas.page import plain, table
from campaigns.papers.claims import Paper

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports" / "papers.md"
_BEGINS = """\
# The five papers

Hakoiri began with five papers. This page compares each of their claims with what the program finds. A program makes it
from `campaigns/papers/results.json`; no figure is put in by hand. The short commands run again in CI.

```sh
python -m campaigns.papers                 # every command; run it again to continue where it was stopped
python -m campaigns.papers gap --short     # one paper, the short commands alone
python -m campaigns.papers --show          # print these tables
python -m campaigns.papers --publish       # write this page
```

**Agrees**: the figure is the same, or what the paper says in words holds. **Answered**: the paper asks, or gives no
figure. **Differs**: the figure is another one, for the reason in the note. **Refuted**: the claim is wrong. **Cannot be
known**: no command can check it, for the reason in the note. **Not run**: the command has not been run for this page
yet. The first column has the numbers of a claim's commands, which are listed below each table with their CPU seconds.
"""


def summary(lines: Iterable[Mapping[str, Any]], papers: Mapping[str, Paper]) -> dict[str, Any]:
    """By paper: its works with commands, CPU seconds and rows; claims of works that are not done are not run."""
    done = {(line["paper"], line["work"], line["asked"]): line for line in lines}
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    found = {}
    for name, paper in papers.items():
        works = []
        for work in paper.works:
            line = done.get((name, work.name, work.asked), {})
            rows = line.get("rows") or [claim.unasked() for claim in work.claims]
            works.append({"work": work.name, "commands": work.commands(), "cpu": line.get("cpu", []), "rows": rows})
        found[name] = {"title": paper.title, "text": paper.text, "works": works}
    return {"machine": machine, "papers": found}


def publish(results: Mapping[str, Any]) -> None:
    """Write the results and the page."""
    RESULTS.write_text(f"{json.dumps(results, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    PAGE.write_text(f"{page(results)}\n", encoding="utf-8")


def page(results: Mapping[str, Any]) -> str:
    """The page, as Markdown."""
    parts = [_BEGINS, *_totals(results)]
    for paper in results["papers"].values():
        parts += _told(paper)
    return "\n".join(parts)


def _totals(results: Mapping[str, Any]) -> Iterator[str]:
    verdicts = Counter(
        row["verdict"] for paper in results["papers"].values() for work in paper["works"] for row in work["rows"]
    )
    counts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items()))
    total = sum(verdicts.values())
    yield f"{total} claims: {counts}. CPU seconds are of {results['machine']}, two cores, beside other work.\n"


def _told(paper: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {paper['title']}\n\n{paper['text']}\n"
    rows, commands = list[list[str]](), list[str]()
    for work in paper["works"]:
        first = len(commands) + 1
        commands += [
            f"{number}. `{command}`{f' ({cpu:,} s)' if cpu is not None else ''}"
            for number, (command, cpu) in enumerate(
                zip(work["commands"], work["cpu"] or [None] * len(work["commands"]), strict=True), first
            )
        ]
        numbers = "" if not work["commands"] else f"{first}" if first == len(commands) else f"{first}-{len(commands)}"
        rows += [
            [numbers, row["place"], row["said"], *map(_shown, (row["paper"], row["ours"])), row["verdict"], row["why"]]
            for row in work["rows"]
        ]
    yield table(["commands", "where", "claim", "the paper", "Hakoiri", "verdict", "note"], rows, others="---")
    yield "\n".join([*commands, ""])


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    # Moves of cards are code.
    return f"`{value}`" if re.fullmatch(r"(\(\w\w, \w\w\) ?)+", str(value)) else plain(value)
