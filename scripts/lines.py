"""Lines of product, tests, campaigns and docs by room, against those of ``scripts/lines.json``: exit 1 above them.

With ``--write`` the numbers of today are written there. A change that raises one says what it bought.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = Path(__file__).with_suffix(".json")
#: Ends of the names of files that count; the lines of others are data.
COUNTED = {".py", ".js", ".css", ".html", ".md"}
FLOORS = {"coordinator", "worker", "storage", "puzzles", "cli", "web"}


def room_of(path: Path) -> str:
    """Return what a file counts for: its room of a floor, or its folder at the top."""
    part, *below = path.parts[:-1]
    if part != "hakoiri":
        return part
    return "/".join((part, *below[: 2 if below[:1] and below[0] in FLOORS else 1]))


def counted() -> dict[str, int]:
    """Return the lines by room, and the modules of the product."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines, kept = Counter[str](), {"hakoiri", "tests", "campaigns", "benchmarks", "docs"}
    for path in map(Path, filter(None, listed.split("\0"))):
        if path.parts[0] in kept and path.suffix in COUNTED and (ROOT / path).is_file():
            size = (ROOT / path).read_text(encoding="utf-8").count("\n")
            lines[room_of(path)] += size
            if path.parts[0] == "hakoiri" and path.suffix == ".py":
                lines["product"] += size
                lines["modules of the product"] += 1
    return dict(sorted(lines.items()))


def main() -> None:
    """Print a table of today's lines and the allowed ones; exit 1 if any are more."""
    found = counted()
    if sys.argv[1:] == ["--write"]:
        ALLOWED.write_text(json.dumps(found, indent=4) + "\n", encoding="utf-8")
    allowed = json.loads(ALLOWED.read_text(encoding="utf-8"))
    above = {room for room, size in found.items() if size > allowed.get(room, 0)}
    for room in sorted({*found, *allowed}) if sys.argv[1:] != ["--quiet"] else sorted(above):
        mark = "  more than allowed" if room in above else ""
        print(f"{found.get(room, 0):8,} of {allowed.get(room, 0):8,}  {room}{mark}")
    sys.exit(bool(above))


if __name__ == "__main__":
    main()
