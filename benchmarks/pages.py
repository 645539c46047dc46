"""The tables that benchmarks have in docs/, each made of a results file.

    python -m benchmarks.pages            # write all tables anew
    python -m benchmarks.pages --check    # exit 1 if one differs from its results file

A page has the tables of `benchmarks/results/NAME.json` between ``<!-- results NAME -->`` and ``<!-- end -->``. The file
says on what they were measured: the command, the machine, the day and the commit.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results"
_PLACE = re.compile(r"(?s)(<!-- results ([\w-]+) -->\n).*?(<!-- end -->)")


@dataclass
class Table:
    """A table: the format of the values of each column by its heading, the rows, and a sentence below.

    The format of texts is empty. A row may end early; ``None`` is an empty cell.
    """

    columns: dict[str, str]
    rows: list[list[Any]] = field(default_factory=list)
    below: str = ""

    def head(self) -> str:
        """Return the first two lines in Markdown."""
        sides = ("--:" if form else "---" for form in self.columns.values())
        return f"| {' | '.join(self.columns)} |\n|{'|'.join(sides)}|"

    def line(self, row: Sequence[Any]) -> str:
        """Return a row in Markdown."""
        padded = [*row, *[None] * (len(self.columns) - len(row))]
        cells = zip(padded, self.columns.values(), strict=True)
        return f"| {' | '.join(_text(value, form) for value, form in cells)} |"

    def __str__(self) -> str:
        lines = [self.head(), *map(self.line, self.rows), *(["", self.below] if self.below else [])]
        return "\n".join(lines)

    def column(self, heading: str) -> dict[str, Any]:
        """Return the values of a column by the first cells of the rows, for all rows that have one."""
        place = [*self.columns].index(heading)
        return {row[0]: row[place] for row in self.rows if len(row) > place and row[place] is not None}


def _text(value: Any, form: str) -> str:
    return "" if value is None else value if isinstance(value, str) else format(value, form)


def machine() -> str:
    """Return the processor, its cores, the memory and the version of Python."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{model}, {os.cpu_count()} cores, {memory:.1f} GB, Python {platform.python_version()}"


def commit() -> str:
    """Return the commit that is measured, with a mark if files differ from it."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=False, cwd=ROOT).stdout.strip() or "unknown"


def load() -> str:
    """Return the number of processes that work on this machine, as a text."""
    return f"load {os.getloadavg()[0]:.0f}"


def command() -> str:
    """Return the command of this process."""
    return " ".join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]])


def record(name: str, tables: Sequence[Table], about: str = "") -> None:
    """Write a results file, and its page. `about` is what else the tables were measured on."""
    measured = {"command": command(), "machine": machine(), "date": time.strftime("%Y-%m-%d"), "commit": commit()}
    found = measured | {"about": about, "tables": [asdict(table) for table in tables]}
    RESULTS.joinpath(f"{name}.json").write_text(f"{json.dumps(found, indent=1)}\n", encoding="utf-8")
    write(name)


def tables_of(name: str) -> list[Table]:
    """Return the tables of a results file."""
    return [Table(**table) for table in _read(name)["tables"]]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return found


def text_of(name: str) -> str:
    """Return what stands between the marks of a page."""
    found = _read(name)
    about = f" {found['about']}" if found["about"] else ""
    measured = f"`{found['command']}`, {found['machine']}; {found['date']}, commit {found['commit']}.{about}"
    return "\n\n".join([measured, *map(str, tables_of(name))])


def pages() -> Iterator[tuple[Path, str]]:
    """Yield each page with a table of results, and its text."""
    for page in sorted(ROOT.glob("docs/**/*.md")):
        if _PLACE.search(text := page.read_text(encoding="utf-8")):
            yield page, text


def with_results(text: str, of: Callable[[str], str] = text_of) -> str:
    """Return the text of a page with the tables of its results files."""
    return _PLACE.sub(lambda place: f"{place[1]}{of(place[2])}\n{place[3]}", text)


def write(name: str = "") -> None:
    """Write the pages that have the results of this name, or of any."""
    for page, text in pages():
        if f"<!-- results {name}" in text:
            page.write_text(with_results(text), encoding="utf-8")


def faults() -> Iterator[str]:
    """Yield the pages that differ from their results files, and the results files that no page has."""
    unread = {file.stem for file in RESULTS.glob("*.json")}
    for page, text in pages():
        unread -= {name for _, name, _ in _PLACE.findall(text)}
        if text != with_results(text):
            yield f"{page.relative_to(ROOT)} differs from its results files: python -m benchmarks.pages"
    yield from (f"benchmarks/results/{name}.json is on no page" for name in sorted(unread))


def main() -> None:
    """Write all pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    if not parser.parse_args().check:
        write()
    elif found := [*faults()]:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
