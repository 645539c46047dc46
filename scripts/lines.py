"""Lines of Python of the product by group, and their change against the merge base with main; exit 1 if the core rises.

The core may rise if commits of the range say so in their bodies: a line ``Core: +12 because ...``, whose numbers add up
to the rise. On main itself what ``origin/main`` has not got is compared, else what is not committed, else the last
commit. Without any earlier commit (an archive, a shallow clone) there is nothing to compare.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Prefixes of paths below ``hakoiri/``; the longest that fits decides, and files that none fits are faces.
GROUPS = {
    "core": """compiling.py errors.py fingerprint.py hints.py keys memory.py owned.py puzzles storage timing.py
        coordinator/__init__.py coordinator/census coordinator/errors.py coordinator/goals coordinator/graphs
        coordinator/layers coordinator/runs coordinator/session
        worker/__init__.py worker/census worker/graphs worker/layers worker/machine.py worker/pool.py""",
    "workers": "coordinator/executors worker",
    "hosts": """coordinator/census/hosted.py coordinator/hosts coordinator/runs/hosted.py worker/hosts
        worker/transport/data_redis.py""",
    "authors of puzzles": "puzzles/conformance puzzles/user",
    "definitions": "puzzles/definitions",
    "depths and symmetry": """coordinator/graphs/strong.py coordinator/graphs/symmetry.py
        coordinator/layers/file_maker.py coordinator/layers/memory_maker.py coordinator/layers/table_maker.py
        puzzles/quotient.py storage/layers/depths.py storage/layers/table_file.py worker/graphs/strong.py
        worker/layers/filed_table.py worker/layers/table.py""",
    "puzzles": """puzzles/classics.py puzzles/hanoi.py puzzles/hanoi_numbers.py puzzles/peg_solitaire.py
        puzzles/permutation puzzles/pictures.py puzzles/sliding_blocks puzzles/twisty""",
    "services": """coordinator/runs/archive.py coordinator/runs/certificate.py coordinator/runs/service.py logs.py
        metrics.py""",
    "guest maps": "render/maps.py run/maps.py worker/graphs/layout.py",
}
PREFIXES = {prefix: group for group, prefixes in GROUPS.items() for prefix in prefixes.split()}
WORD = re.compile(r"^Core: \+(\d+) because \S", re.MULTILINE)


def group_of(path: str) -> str:
    """Return the group of a file of the product."""
    parts = path.split("/")[1:]
    if parts[0] == "guests":
        return "guests, what they share" if parts[1].endswith(".py") else f"guest {parts[1]}"
    leading = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((PREFIXES[prefix] for prefix in leading if prefix in PREFIXES), "faces")


def git(*words: str) -> str:
    """Return the output of a git command, or an empty text if it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, check=False, capture_output=True, text=True).stdout.strip()


def earlier() -> str:
    """Return the commit to compare with, or an empty text."""
    unchanged = "" if git("status", "--porcelain", "hakoiri") else git("rev-parse", "HEAD")
    bases = [git("merge-base", "HEAD", main) for main in ("origin/main", "main")]
    bases.append(git("rev-parse", "--verify", "-q", "HEAD~1"))
    return next((base for base in bases if base not in ("", unchanged)), "")


def main() -> None:
    """Print the table; exit 1 if the core has more lines than the commits of the range account for."""
    now, change = Counter[str](), Counter[str]()
    for path in git("ls-files", "hakoiri/*.py").split():
        if (ROOT / path).is_file():
            now[group_of(path)] += (ROOT / path).read_bytes().count(b"\n")
    base = earlier()
    for line in git("diff", "--numstat", "--no-renames", base, "--", "hakoiri/*.py").splitlines() if base else ():
        more, fewer, path = line.split("\t")
        change[group_of(path)] += int(more) - int(fewer)
    if sys.argv[1:] != ["--quiet"]:
        for group in sorted({*now, *change}):
            print(f"{now[group]:8,} {change[group]:+6,}  {group}")
    allowed = sum(map(int, WORD.findall(git("log", "--format=%B", f"{base}..HEAD")))) if base else 0
    if change["core"] > allowed:
        rise = f"{change['core']:+} lines since {base[:10]}, {allowed:+} accounted for"
        sys.exit(f'the core has {rise}: write "Core: +N because ..." into a commit\'s body, or take lines out')


if __name__ == "__main__":
    main()
