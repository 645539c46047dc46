"""Exit 0 if the README and the page on answers cite the campaign truly, and no page says what a release has ended.

Otherwise the sentences are printed.

A sentence that links to `docs/reports/mayhem.md` has its numbers in the texts of such links, each to the part of the
campaign that found it. The number is a figure of the part, and no trial of the part is older than a feature that the
sentence names. Where a commit is not in this clone, since it is shallow or its branch was squashed, the day decides on
which the part's last trial was done.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/explanation/answers.md")
RESULTS = ROOT / "campaigns/mayhem/results.json"
#: The words that name a feature, the commit that made it as it is, and its day: trials of before say nothing of it.
FEATURES = {
    # Workers expand frontiers again, after a time in which they made no layers.
    r"\bworkers?\b|\bfrontiers?\b": ("62b1c302", "2026-11-27"),
    r"--keep\b": ("44ce44e1", "2026-11-27"),
    r"\barchives?\b|\brestor": ("7de46210", "2026-11-27"),
}
#: Words about what a release has ended, for README, docs/ and all sources.
ENDED = {
    r"workers? (?:make|makes|expand|expands) no layers?": "workers expand chunks of layers",
    r"forks?(?:ed)? (?:its |the |a )?workers?\b": "a worker is a new interpreter",
}
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*mayhem\.md(?:#([\w-]+))?\)")
_NUMBER = re.compile(r"\d[\d,]*")
_COMMIT = re.compile(r"[0-9a-f]{7,}")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[\[A-Z])|\n\s*\n")


def knows(commit: str) -> bool:
    """Return whether a commit is in this clone, which may be shallow."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0


def is_older(commit: str, feature: str) -> bool | None:
    """Return whether a commit lacks a feature; ``None`` where one of both is not known here."""
    if not (knows(feature) and knows(commit)):
        return None
    asked = ["git", "merge-base", "--is-ancestor", feature, commit]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode != 0


def faults(
    text: str, parts: Mapping[str, Mapping[str, Any]], older: Callable[[str, str], bool | None] = is_older
) -> Iterator[str]:
    """Yield what is wrong with the sentences of a text that cite figures of these parts of the campaign."""
    for sentence in _SENTENCE.split(text):
        plain = " ".join(sentence.split())
        if _LINK.search(plain) and _NUMBER.search(re.sub(r"\]\([^)]*\)|`[^`]*`", "", _LINK.sub("", plain))):
            yield f"has a figure outside of the link to its part of the campaign: {plain}"
        for words, part in _LINK.findall(plain):
            cited = [int(number.replace(",", "")) for number in _NUMBER.findall(words)]
            if not cited:
                continue
            if part not in parts:
                yield f"the campaign has no part {part!r}: {plain}"
                continue
            figures = {value for value in parts[part].values() if isinstance(value, int | float)}
            yield from (f"{number:,} is no figure of {part}: {plain}" for number in cited if number not in figures)
            commits = _COMMIT.findall(" ".join(parts[part]["code"]))
            for feature, (made, day) in FEATURES.items():
                if not re.search(feature, plain):
                    continue
                judged = {commit: older(commit, made) for commit in commits}
                trials = ", ".join(commit for commit, lacks in judged.items() if lacks)
                if not trials and None in judged.values() and parts[part]["until"] < day:
                    trials = parts[part]["until"]
                if trials:
                    yield f"cites trials of {trials}, older than {made}, which made what it names: {plain}"


def ended(text: str) -> Iterator[str]:
    """Yield what a text says of things that a release has ended."""
    plain = " ".join(text.split())
    for words, now in ENDED.items():
        yield from (f"says {found[0]!r}, but {now}" for found in re.finditer(words, plain, re.IGNORECASE))


def sources() -> Iterator[Path]:
    """Yield README, the pages of docs/, and the sources of the product and of the campaigns."""
    yield ROOT / "README.md"
    for pattern in ("docs/**/*.md", "hakoiri/**/*.py", "hakoiri/**/*.js", "campaigns/**/*.py"):
        yield from sorted(ROOT.glob(pattern))


def main() -> None:
    """Print the faults; exit 1 if there are any."""
    parts = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    found = [(page, fault) for page in PAGES for fault in faults((ROOT / page).read_text(encoding="utf-8"), parts)]
    for file in sources():
        found += [(str(file.relative_to(ROOT)), fault) for fault in ended(file.read_text(encoding="utf-8"))]
    for page, fault in found:
        print(f"{page}: {fault}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
