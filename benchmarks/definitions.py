"""The same spaces by built-in puzzles and from definitions: CPU seconds of whole processes, in turn.

    python -m benchmarks.definitions --repeat 5 --page
    python -m benchmarks.definitions --inside             # only the search, in this process, ns a configuration

One thread, all layers stored or with `--keep depths`. A row has the least CPU seconds of `--repeat`; the ratio is that
of the least. All must find the same layers. Without a built-in puzzle of the space there is no ratio.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.baselines import KEEPS, spent
from benchmarks.kernels import searched
from benchmarks.pages import Table, load, record
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "definitions"


def _pancakes(n: int, folder: Path) -> str:
    """Write the reversals of n pancakes as a GAP file."""
    swaps = {count: [(one + 1, count - one) for one in range(count // 2)] for count in range(2, n + 1)}
    lines = [f"M_r{count}:=" + "".join(f"({a},{b})" for a, b in pairs) + ";" for count, pairs in swaps.items()]
    lines.append(f"Gen:=[{','.join(f'M_r{count}' for count in swaps)}];")
    (folder / f"pancakes-{n}.gap").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / f"pancakes-{n}.gap")


def _words(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Return for each space the words of the built-in puzzle, or none, and those of the definition."""
    given = ["-o", "metric=given"]
    return {
        "2x2x2": ([], [f"{EXAMPLES}/2x2x2.gap"]),
        "Pyraminx": ([], [f"{EXAMPLES}/pyraminx.json"]),
        "pancakes 10": (["pancakes", "-o", "n=10"], [_pancakes(10, folder), *given]),
        "pancakes 11": (["pancakes", "-o", "n=11"], [_pancakes(11, folder), *given]),
        "TopSpin(10, 4)": ([], [f"{EXAMPLES}/topspin-10-4.tws"]),
        "3x3x3 corners": ([], [f"{EXAMPLES}/corners.gap"]),
    }


def _whole(words: list[str], keep: str) -> tuple[float, int]:
    """Return the CPU seconds and the configurations of a whole process."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "hakoiri", "run", *words, "--keep", keep, "--workers", "1", "--json"]
        used = spent([*command, "--data", data])
    return used.cpu, used.found


def _inside(words: list[str]) -> tuple[float, int]:
    """Return the seconds and the configurations of a search in this process."""
    options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
    found, seconds = searched(with_own_file(PuzzleSpec(words[0], options)).build())
    return seconds, found


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="rounds of each space")
    parser.add_argument("--inside", action="store_true", help="only the search, in this process")
    parser.add_argument("--page", action="store_true", help="write docs/reports/peers.md")
    arguments = parser.parse_args()
    ways = ("inside",) if arguments.inside else KEEPS
    form, columns = ".1f" if arguments.inside else ".2f", {"space": "", "configurations": ","}
    for way in ways:
        before = "" if arguments.inside else f"{way}: "
        columns |= {f"{before}built-in": form, f"{before}definition": form, f"{before}ratio": ".2f"}
    table = Table(columns)
    print(table.head())
    with tempfile.TemporaryDirectory() as folder:
        for space, words in _words(Path(folder)).items():
            least, configurations = dict[tuple[str, int], float](), set[int]()
            # The first round compiles kernels.
            for number in range(arguments.repeat + 1):
                for way in ways:
                    for which, each in enumerate(words):
                        if each:
                            cpu, found = _inside(each) if arguments.inside else _whole(each, way)
                            configurations.add(found)
                            least[way, which] = min(cpu, least.get((way, which), cpu) if number > 1 else cpu)
            if len(configurations) > 1:
                sys.exit(f"{space}: not the same number of configurations: {configurations}")
            (count,), row = configurations, list[float | None]()
            for way in ways:
                unit = 1e9 / count if arguments.inside else 1
                built, given = least.get((way, 0)), least[way, 1]
                row += [built and built * unit, given * unit, built and given / built]
            table.rows.append([space, count, *row])
            print(table.line(table.rows[-1]), flush=True)
    if arguments.page:
        name = "definitions-inside" if arguments.inside else "definitions"
        record(name, [table], f"One thread, least of {arguments.repeat}; {load()}.")


if __name__ == "__main__":
    main()
