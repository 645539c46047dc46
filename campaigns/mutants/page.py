"""The outcomes of the mutants as JSON, and as the page `docs/reports/mutants.md`, which is made from it alone."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from campaigns.mutants.sites import ROOT, mutants

RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs" / "reports" / "mutants.md"
_JUDGED = Path(__file__).with_name("judged.json")
#: A mutant with which the tests do not end would not pass unseen.
NOTICED = ("noticed", "too long")
_BEGINS = """\
# Mutants

`campaigns/mutants` changes one operator of the product at a time (`<` to `<=`, `and` to `or`, `+` to `-`, `not x` to
`x`), and runs the tests that enter the changed function: a test should fail. The operators are chosen by seed from all
functions of coordinator, storage and worker, and from the compiled functions of puzzles. A mutant that survives is
judged: either it has no effect, and the reason is below, or a test was added that fails under it. One that is not
judged yet is listed as such. This page is made from the results; no figure is put in by hand.

```sh
python -m campaigns.mutants --place /tmp/mutants            # started again, it continues where it was stopped
python -m campaigns.mutants --place /tmp/mutants --seed 2 --count 120
python -m campaigns.mutants --place /tmp/mutants --again    # survivors again, with the tests that were added for them
python -m campaigns.mutants --publish                       # this page
```

Only tests that enter a function in their own process are run. Those that enter few other functions and the shortest
ones come first, up to six seconds of processor time together (25 for survivors). So a longer test, or one that starts
commands, may still notice a survivor. Compiled functions are not entered by Python: the tests that call them, or the
functions that use them, are run.

The tests that were added are for survivors of seed 1. Operators of seed 2 were tried afterwards: how many of these were
noticed at first, before tests were added for them, too, is what to expect of any others.

Mutants of code that has changed since they were tried are left out, so the tables count those that can still be made.
"""
_JUDGED_BEGINS = """
## Survivors

"""


def judged() -> dict[str, dict[str, Any]]:
    """By mutant: `why` it has no effect, or the `tests` that notice it."""
    found: dict[str, dict[str, Any]] = json.loads(_JUDGED.read_text(encoding="utf-8"))
    return found


def last_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The last row of each mutant, with `first`, its outcome when it was tried first."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        first = found.get(row["mutant"], {}).get("first", row["outcome"])
        found[row["mutant"]] = {**row, "first": first}
    return list(found.values())


def page(rows: list[dict[str, Any]], judgements: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole page."""
    lines = list[str]()
    for seed in sorted({row["seed"] for row in rows}):
        mine = [row for row in rows if row["seed"] == seed]
        lines += [
            f"\n## Seed {seed}\n",
            "| where | mutants | noticed at first | noticed now | no effect | left | noticed of those with an effect |",
            "|---|--:|--:|--:|--:|--:|--:|",
            *(
                _line(room, [row for row in mine if _room(row) == room], judgements)
                for room in sorted({*map(_room, mine)})
            ),
            _line("all", mine, judgements),
        ]
    survivors = sorted(row["mutant"] for row in rows if row["first"] not in NOTICED)
    told = [f"- {_told(mutant, judgements.get(mutant, {}))}" for mutant in survivors]
    return _BEGINS + "\n".join(lines) + "\n" + _JUDGED_BEGINS + "\n".join(told) + "\n"


def standing(rows: Iterable[dict[str, Any]], root: Path = ROOT) -> list[dict[str, Any]]:
    """Return the rows of mutants whose code still exists."""
    names = {mutant.name for mutant in mutants(0, root)}
    return [row for row in rows if row["mutant"] in names]


def publish(rows: list[dict[str, Any]]) -> None:
    """Write the results and the page, without mutants of code that is gone."""
    rows = standing(rows)
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(rows, judged()), encoding="utf-8")


def _room(row: Mapping[str, Any]) -> str:
    room = str(row["mutant"].split("/")[0])
    return f"{room}, compiled" if row["kernel"] else room


def _line(room: str, rows: list[dict[str, Any]], judgements: Mapping[str, Mapping[str, Any]]) -> str:
    first = sum(row["first"] in NOTICED for row in rows)
    now = sum(row["outcome"] in NOTICED for row in rows)
    idle = sum(row["outcome"] not in NOTICED and "why" in judgements.get(row["mutant"], {}) for row in rows)
    share = f"{now / (len(rows) - idle):.1%}" if len(rows) > idle else ""
    return f"| {room} | {len(rows)} | {first} | {now} | {idle} | {len(rows) - idle - now} | {share} |"


def _told(mutant: str, judgement: Mapping[str, Any]) -> str:
    where, _, change = mutant.partition(": ")
    if tests := judgement.get("tests"):
        verdict = "noticed by " + ", ".join(f"`{test}`" for test in tests)
    else:
        verdict = f"no effect: {judgement['why']}" if "why" in judgement else "not judged"
    return f"`{where}`: `{change}`: {verdict}"
