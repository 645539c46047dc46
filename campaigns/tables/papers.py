"""The page `docs/reports/papers.md`, made of the results alone."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from campaigns.tables.atlas import Lines, plain, table
from campaigns.tables.entries import CHANCE, Claim, Part, typed

_BEGINS = """\
# The five papers

Hakoiri began with five papers. This page compares each of their claims with what the program finds. A program makes it
from `campaigns/tables/results.json`; figures and verdicts are computed, none is put in by hand. The short commands run
again in CI.

```sh
python -m campaigns.tables musume gap           # the commands of two papers; run it again to continue
python -m campaigns.tables superpuzz --short    # one paper, the short commands alone
python -m campaigns.tables --publish            # write this page and the atlas
```

A claim has one verdict, which follows from the paper's figure and ours. **Agrees**: the figure is the same, or what the
paper says holds; figures of random samples agree if they are inside 95 % of what chance makes. **Answered**: the paper
asks. **Differs**: the figure is another one, for the reason in the note. **Refuted**: the paper speaks of all cases,
and there is a counterexample. **Unexplained**: random samples differ by more than chance. **Too few deals**: no deal of
our sample reaches the paper's figure, and one any farther out would agree, too. **Cited**: proved elsewhere.
**Cannot be known**: no command can check it. **Not run**: the command has not been run for this page yet. The first
column has the numbers of a claim's commands, which are listed below each table with their CPU seconds.

"""


def page(parts: Sequence[Part], results: Mapping[str, Lines], machine: str) -> str:
    """The page, as Markdown."""
    verdicts = Counter(
        claim.verdict(_ours(claim, results.get(part.name, {}).get(entry.name)))
        for part in parts for entry in part.entries for claim in entry.claims if not claim.beyond
    )  # fmt: skip
    counts = ", ".join(f"{verdict} {count}" for verdict, count in sorted(verdicts.items()))
    samples = sum(bool(claim.chance) for part in parts for entry in part.entries for claim in entry.claims)
    decided = samples - verdicts["too few deals"]
    told = [
        f"{_BEGINS}{verdicts.total()} claims: {counts}. Chance alone makes {CHANCE * decided:.1f} unexplained, on "
        f"average, of the {decided} figures of random samples that can be decided. CPU seconds are of {machine}, two "
        "cores, beside other work.\n"
    ]
    for part in parts:
        told += _told(part, results.get(part.name, {}))
    return "\n".join(told)


def _ours(claim: Claim, line: Mapping[str, Any] | None) -> Any:
    return line["row"].get(claim.name) if line else None


def _told(part: Part, lines: Lines) -> Iterator[str]:
    yield f"## {part.title}\n\n{part.text}\n"
    claims, beyond, commands = list[list[str]](), list[list[str]](), list[str]()
    for entry in part.entries:
        line, first = lines.get(entry.name), len(commands) + 1
        costs = [f" ({cost['cpu_seconds']:,.1f} s)" for cost in line["costs"]] if line else [""] * len(entry.lines)
        commands += [
            f"{number}. `{command}`{cost}"
            for number, (command, cost) in enumerate(zip(map(typed, entry.lines), costs, strict=True), first)
        ]
        numbers = "" if not entry.lines else f"{first}" if first == len(commands) else f"{first}-{len(commands)}"
        for claim in entry.claims:
            ours = _ours(claim, line)
            if claim.beyond:
                beyond.append([numbers, claim.said, _shown(claim, ours), claim.why])
            else:
                cells = [
                    claim.place,
                    claim.said,
                    _plain(claim.paper),
                    _shown(claim, ours),
                    claim.verdict(ours),
                    claim.why,
                ]
                claims.append([numbers, *cells])
    yield table(["commands", "where", "claim", "the paper", "Hakoiri", "verdict", "note"], claims, others="---")
    if part.after:
        yield f"{part.after}\n"
    if beyond:
        yield "### Beyond the paper\n"
        yield table(["commands", "figure", "Hakoiri", "note"], beyond, others="---")
    yield "\n".join([*commands, ""])


def _shown(claim: Claim, ours: Any) -> str:
    """Our figure, in the format of the claim."""
    if ours is None or claim.shown is None:
        return _plain(ours)
    fields, listed = ours if isinstance(ours, dict) else {}, ours if isinstance(ours, list) else []
    return claim.shown.format(*listed, **{"ours": ours, **fields})


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    # Moves of cards are code.
    return f"`{value}`" if re.fullmatch(r"(\(\w\w, \w\w\) ?)+", str(value)) else plain(value)
