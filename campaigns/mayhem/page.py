"""The results of a campaign as JSON, and as the page `docs/reports/mayhem.md`, which is made of them alone.

Each figure is of some commits. The page says how many commits have touched the rooms that the part vouches for since
then, as of the commit at which the page was last published.
"""

import json
import platform
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

from campaigns.mayhem.trials import Measure, Part
from hakoiri.errors import counted

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports" / "mayhem.md"
_ENGINE = ("coordinator", "worker", "storage")
_HOSTS = ("coordinator/hosts", "worker/hosts", "storage")
#: The rooms that a part vouches for, in `hakoiri`, or before that at the top; of others the engine.
_ROOMS: Mapping[str, tuple[str, ...]] = {
    "farmed": ("coordinator/executors", "coordinator/layers", "worker/transport", "worker/layers", "storage"),
    "pairs": (*_ENGINE, "export", "web"), "keepers": _HOSTS, "copies": _HOSTS, "restored": _HOSTS, "web": ("web",),
    "requests": ("web",), "damage": ("storage", "coordinator"), "payloads": ("worker/transport", "worker/hosts"),
    "soak": (*_ENGINE, "web"),
}  # fmt: skip
_COMMIT = re.compile(r"[0-9a-f]{7,}(?:-dirty)?")
#: The number of worst trials shown for each measure that tells how bad one was.
_WORST = 3
_BEGINS = """\
# Mayhem

`campaigns/mayhem` kills, damages, starves and deceives Hakoiri on purpose, thousands of times by seeds, and compares
each result with that of an undisturbed run. This page is made from its results; no figure is put in by hand. A short
form runs in CI. Each part gives the number of its trials, their commits, and how often each case was tried. After
a commit, *+N* counts the later commits that touch what the part vouches for, as of when this page was made. Older
trials bear the commit that published them. A trial that finds a fault is repeated on the commit that mends it, and the
fault gets a test in the ordinary suite. Seconds are high because the machine did other work meanwhile.

```sh
python -m campaigns.mayhem                        # every part; started again, it goes on where it was stopped
python -m campaigns.mayhem --part kills --minutes 10
python -m campaigns.mayhem --part kills --case worker --case tree    # those trials alone
python -m campaigns.mayhem --only kills:417       # one trial again, by its number (and `--seed`)
python -m campaigns.mayhem --publish              # this page
```
"""


def summary(rows: Iterable[Mapping[str, Any]], parts: Mapping[str, type[Part]]) -> dict[str, Any]:
    """By part: how many trials and seconds, each measure in all, the same by case, the worst, and what was not kept."""
    grouped = defaultdict[str, list[Mapping[str, Any]]](list)
    for row in rows:
        grouped[row["part"]].append(row)
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {"machine": machine, "parts": {name: _of(parts[name], grouped[name]) for name in parts if name in grouped}}


def _of(part: type[Part], rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    cases = defaultdict[tuple[int, str], list[Mapping[str, Any]]](list)
    for row in rows:
        for place, name in enumerate(row["case"].split(" / ")):
            cases[place, name].append(row)
    worst = [name for name, measure in part.measures.items() if measure.most]
    crossed = Counter[str]()
    for row in rows if part.crossed else []:
        crossed[row["case"]] += row["figures"].get(part.crossed, 0)
    each_case = Counter(row["case"] for row in rows)
    return _totals(part, rows) | {
        "code": Counter(row["code"] for row in rows),
        "fewest": [len(each_case), min(each_case.values()), max(each_case.values())],
        "seeds": sorted({row["seed"] for row in rows}),
        "until": date.today().isoformat(),
        "seconds": round(sum(row["seconds"] for row in rows)),
        "cases": [
            {"place": place, "case": name, "code": Counter(row["code"] for row in each)} | _totals(part, each)
            for (place, name), each in cases.items()
        ],
        "crossed": crossed,
        "worst": {name: _greatest(name, rows) for name in worst},
        "not kept": [_named(row) | {"faults": row["faults"]} for row in rows if row["faults"]],
    }


def _totals(part: type[Part], rows: list[Mapping[str, Any]]) -> dict[str, Any]:
    measured = {
        name: _total(measure, [row["figures"].get(name, 0) for row in rows]) for name, measure in part.measures.items()
    }
    return {"trials": len(rows)} | measured


def _total(measure: Measure, figures: list[float]) -> float:
    if measure.middle:
        return median([each for each in figures if each] or [0.0])
    return max(figures) if measure.most else sum(figures)


def _greatest(name: str, rows: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(rows, key=lambda row: row["figures"].get(name, 0), reverse=True)[:_WORST]
    return [_named(row) | {name: row["figures"].get(name, 0)} for row in ordered]


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    """A trial as the command line takes it, on which commit that is this one, and its case."""
    name = f"{row['part']}:{row['number']}" + (f" --seed {row['seed']}" if row["seed"] != 1 else "")
    return {"trial": name, "code": row["code"], "case": row["case"]}


def touched_since(commit: str, rooms: Iterable[str]) -> int | None:
    """Return how many commits have touched these rooms since a commit; ``None`` if it is not known here."""
    places = [place for room in rooms for place in (f"hakoiri/{room}", room)]
    asked = ["git", "rev-list", "--count", f"{commit.removesuffix('-dirty')}..HEAD", "--", *places]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=PAGE.parents[2])
    return int(done.stdout) if done.returncode == 0 else None


def commits_of(results: Mapping[str, Any]) -> list[str]:
    """Return the commits of a part's trials, and of its cases, where these are known."""
    texts = [*results["code"], *(code for case in results["cases"] for code in case.get("code", ()))]
    return list(dict.fromkeys(commit for text in texts for commit in _COMMIT.findall(text)))


def page(found: Mapping[str, Any], parts: Mapping[str, type[Part]]) -> str:
    """The page, as Markdown."""
    told = [_BEGINS, f"Done on {found['machine']}.\n"]
    for name, results in found["parts"].items():
        told += _told(parts[name], results)
    return "\n".join(told)


def _told(part: type[Part], results: Mapping[str, Any]) -> list[str]:
    faults, trials = results["not kept"], results["trials"]
    told = [f"## {part.name.capitalize()}\n", f"{part.text}\n"]
    promised = f"{len(faults)} broke a promise" if faults else "all kept every promise"
    seeds = ", ".join(map(str, results["seeds"]))
    took = f" in {results['seconds']:,} s" if "seconds" in results else ""
    done = f"{counted(trials, 'trials')}{took}, seed {seeds}, until {results['until']}: {promised}."
    code = ", ".join(f"{count:,} on {_since(commit, results)}" for commit, count in results["code"].items())
    if trials == 1:
        on = _since(next(iter(results["code"])), results)
        return [*told, f"{done} On {on}.\n", _only(part, results), *_faults(faults)]
    told += [done, f"{code}. {_times(results)}\n"]
    for place, heading in enumerate(part.headings):
        if rows := [case for case in results["cases"] if case["place"] == place]:
            all_of = [{"case": "all"} | {**results, "code": {}}] if place == 0 else []
            told.append(_table(part, heading, [*rows, *all_of], results))
    told += [_crossed(part, results)] if results.get("crossed") else []
    for name, rows in results["worst"].items():
        most = ". Then ".join(f"{row[name]:g} in {_trial(row)}" for row in rows if row[name])
        told += [f"Most {part.measures[name].words}: {most}.\n"] if most else []
    return told + _faults(faults)


def _since(code: str, results: Mapping[str, Any]) -> str:
    """Return commits as text, each with the number of commits since."""
    touched = results.get("touched", {})
    each = [(commit, touched.get(commit)) for commit in _COMMIT.findall(code)]
    return ", ".join(f"`{commit}` {'(not in this history)' if n is None else f'+{n:,}'}" for commit, n in each)


def _times(results: Mapping[str, Any]) -> str:
    """Return how often each case was tried, or the note on older trials if only some of them still count."""
    if "note" in results:
        return str(results["note"])
    cases, fewest, most = results["fewest"]
    times = f"{fewest:,} to {most:,}" if fewest < most else f"{most:,}"
    return f"{counted(cases, 'cases')}, each tried {times} times."


def _faults(faults: list[dict[str, Any]]) -> list[str]:
    return [*(f"- {_trial(fault)}: {fault['faults'][0][:200]}" for fault in faults), *[""] * bool(faults)]


def _only(part: type[Part], results: Mapping[str, Any]) -> str:
    """The measures of the only trial, one below the other."""
    lines = [f"| {measure.words} | {results[name]:,} |" for name, measure in part.measures.items()]
    return "\n".join(["| figure | |", "|---|--:|", *lines, ""])


def _trial(named: Mapping[str, Any]) -> str:
    return f"`{named['trial']}` on `{named['code']}` ({named['case']})"


def _table(part: type[Part], heading: str, rows: list[Mapping[str, Any]], results: Mapping[str, Any]) -> str:
    measures, with_commits = part.measures.items(), any(row.get("code") for row in rows)
    lines = [f"| {heading} | trials | {' | '.join(measure.words for _, measure in measures)} |"]
    lines.append("|---|" + "--:|" * (1 + len(part.measures)))
    if with_commits:
        lines = [f"{lines[0]} on |", f"{lines[1]}---|"]
    for row in rows:
        figures = " | ".join(
            f"{row[name]:.2f}" if measure.most or measure.middle else f"{row[name]:,.0f}" for name, measure in measures
        )
        on = f" {', '.join(_since(code, results) for code in row.get('code', ()))} |" if with_commits else ""
        lines.append(f"| {row['case']} | {row['trials']:,} | {figures} |{on}")
    return "\n".join([*lines, ""])


def _crossed(part: type[Part], results: Mapping[str, Any]) -> str:
    """The one measure of every case: a row for each first name, a column for each second one."""
    pairs = [name.split(" / ") for name in results["crossed"]]
    firsts, seconds = (list(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    words = part.measures[part.crossed].words
    lines = [f"| {words} of each {part.headings[1]} | {' | '.join(seconds)} |", "|---|" + "--:|" * len(seconds)]
    for first in firsts:
        counts = (f"{results['crossed'].get(f'{first} / {second}', 0):,.0f}" for second in seconds)
        lines.append(f"| {first} | {' | '.join(counts)} |")
    return "\n".join([*lines, ""])


def publish(found: Mapping[str, Any], parts: Mapping[str, type[Part]]) -> None:
    """Write both files; parts of which there are no new results stay as they were, but for the commits since."""
    known = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"] | found["parts"]
    found = {**found, "parts": {name: known[name] for name in parts if name in known}}
    for name, results in found["parts"].items():
        rooms = _ROOMS.get(name, _ENGINE)
        results["touched"] = {commit: touched_since(commit, rooms) for commit in commits_of(results)}
    RESULTS.write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
    PAGE.write_text(page(found, parts), encoding="utf-8")
