"""Make the directory of a data deposit: the graph of Hakoiri-musume, tables and certificates of the atlas, levels.

    .venv/bin/python scripts/deposit.py build/deposit

The graph is computed anew, in seconds, and verified; the atlas is that of this checkout. README.md in the directory
describes each file, `metadata.json` has the fields that a repository such as Zenodo asks for, and SHA256SUMS can be
checked by `sha256sum --check SHA256SUMS`. Commands and figures of a version always make the same files.
"""

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_TITLE = "The graph of Hakoiri-musume (Klotski), an atlas of puzzle state spaces, and levels by exact distance"
_README = """# {title}

Made by Hakoiri {version}, exhaustive layered search of puzzle state spaces: `python scripts/deposit.py DIRECTORY`.
Licence: MIT, as Hakoiri. To cite: `CITATION.cff`. To check the files: `sha256sum --check SHA256SUMS`.

## The graph of Hakoiri-musume

All {configurations:,} configurations of ten pieces on a board of 4 x 5, with {moves:,} unit moves between them, in
{components} components. Pieces of the same shape are alike. Moves can be taken back; each is listed once. The two
largest components, mirror images of each other, have {largest:,} configurations and a diameter of {diameter} moves.

In `hakoiri-musume/`:

| file | what | columns |
|---|---|---|
| `configurations.csv` | the vertices | `key` of 32 bits, `configuration`, `component`, `goal` (1: solved) |
| `moves.csv` | the edges | `source` and `target` (keys), `move` (a piece and a direction) |
| `depths.csv` | the usual start's component | `depth`: the fewest unit moves from the usual start |
| `components.json` | every component | size, diameter, radius, sizes of centre and periphery |
| `diameter.json` | the usual start's component | all pairs at the distance of its diameter |

Digest of the run: `{digest}`. `hakoiri verify --full` derived it again from the rules in plain Python.

## The atlas

`atlas/NAME.csv` is a table of the atlas of Hakoiri. Signs in it: ✓, a value that was published before and is the same;
°, a value for which no published one was found. `atlas/certificates/NAME.json` has the number of configurations and the
SHA-256 digest of each layer of a search; `hakoiri verify FILE` makes the search again and compares.

## Growth

`growth/growth.csv` has the sizes of all layers of {growth} spaces, `growth/cayleypy/` those of families of moves in the
form of CayleyPy's files, `growth/certificates/` a certificate each, and `growth/published.json` the rows that others
publish.

## Sequences

`oeis/` has a text and a b-file for each sequence that the tables extend, and `index.md`, which says where each was
looked for.

## From corner to corner

`corners.csv`: pieces of any shape on small boards, and the starts from which the first piece takes the most moves to
the opposite corner.

## Levels

`levels/NAME.jsonl` has boards of each exact distance from the goal, drawn at random without repetition (seed 1): for
those who train or test programs that solve puzzles. A line is one JSON object.

| field | what |
|---|---|
| `board`, `key` | the configuration |
| `distance` | the least number of moves to the nearest goal, by exhaustive search |
| `solution`, `solutions` | the moves of one shortest solution, and the number of all shortest ones |
| `branching` | the number of moves of the board |
| `of`, `seed` | the number of configurations of the run at this distance, and the seed of the draw |

Of each distance in each run a set has as many as the column *each* says, or all if there are fewer. After a run came
`hakoiri hardest last` and `hakoiri sample last --per-layer EACH --to FILE --seed 1`.

| set | levels | greatest distance | each | runs |
|---|---|---|---|---|
{levels}

"""
#: The sets of levels: the most levels of each distance in each run, and the commands of the runs.
_LEVELS = {
    "hakoiri-musume": (10_000, ["klotski --whole"]),
    "rush-hour": (
        300,
        [
            f"sliding --from {board} -o axis=rows-and-columns -o metric=straight"
            for board in (
                "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", "GBBoLoGHIoLMGHIAAMCCCKoMooJKDDEEJFFo",
                "AA...OP..Q.OPXXQ.OP..Q..B...CCB.RRR.", "AA.O.BP..OQBPXXOQGPRRRQGD...EED...FF",
                ".ABBCC.A.DEEXX.DOFPQQQOFP.G.OHP.G..H", "AAB.....B.CCDEXXFGDEHHFG..I.JJKKI...",
                "AABO..CCBO..PXXO..PQQQ..PDD...RRR...", "..AOOOB.APCCBXXP...D.PEEFDGG.HFQQQ.H",
                "ABBO..ACCO..XXDO.P..DEEP..F..P..FRRR", "AA.OOO...BCCDXXB.PD.QEEPFFQ..P..QRRR",
                "..OAAP..OB.PXXOB.PKQQQ..KDDEF.GG.EF.", "OAA.B.OCD.BPOCDXXPQQQE.P..FEGGHHFII.",
            )
        ],
    ),
    "8-puzzle": (100, ["tiles"]),
    "cube-2x2x2": (100, ["cube2"]),
    "sokoban": (100, ["examples/sokoban.py:Sokoban"]),
}  # fmt: skip


def _hakoiri(data: str, *words: str) -> Any:
    """Return the JSON of a command."""
    command = [sys.executable, "-m", "hakoiri", *words, "--data", data, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _graph(target: Path) -> dict[str, Any]:
    """Write the files of the graph; return the figures of its README."""
    target.mkdir()
    with tempfile.TemporaryDirectory() as data:
        _hakoiri(data, "run", "klotski")
        _hakoiri(data, "export", "last", "--to", str(target / "depths.csv"))
        run = _hakoiri(data, "run", "klotski", "--whole")
        _hakoiri(data, "verify", "last", "--full")
        _hakoiri(data, "export", "last", "--to", str(target / "configurations.csv"))
        moves = _hakoiri(data, "export", "last", "--edges", str(target / "moves.csv"), "--moves")
        components = _hakoiri(data, "components", "last")
        for name in ("components", "diameter"):
            found = components if name == "components" else _hakoiri(data, name, "last")
            # The name of a run is made by chance.
            text = json.dumps({key: value for key, value in found.items() if key != "run"}, indent=1)
            (target / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
    largest = components["components"][0]
    return {
        "configurations": run["configurations"], "moves": moves["edges"], "digest": run["digest"],
        "components": len(components["components"]), "largest": largest["size"], "diameter": largest["diameter"],
    }  # fmt: skip


def _levels(target: Path) -> Iterator[str]:
    """Write the sets of levels; yield the row of each in the README."""
    target.mkdir()
    for name, (each, runs) in _LEVELS.items():
        levels = list[str]()
        for words in runs:
            with tempfile.TemporaryDirectory() as data:
                file = Path(data) / "levels.jsonl"
                _hakoiri(data, "run", *words.split())
                _hakoiri(data, "hardest", "last")
                _hakoiri(data, "sample", "last", "--per-layer", str(each), "--to", str(file), "--seed", "1")
                levels += file.read_text(encoding="utf-8").splitlines(keepends=True)
        (target / f"{name}.jsonl").write_text("".join(levels), encoding="utf-8")
        farthest = max(json.loads(level)["distance"] for level in levels)
        made = "; ".join(f"`hakoiri run {words}`" for words in runs)
        yield f"| `{name}` | {len(levels):,} | {farthest} | {each:,} | {made} |"


def _growth(target: Path) -> int:
    """Copy the growth tables; return the number of spaces."""
    shutil.copytree(ROOT / "docs/data/growth", target / "certificates")
    shutil.copytree(ROOT / "docs/data/cayleypy", target / "cayleypy")
    for name in ("growth.csv", "published.json"):
        shutil.copy(ROOT / "docs/data" / name, target)
    return len((target / "growth.csv").read_text(encoding="utf-8").splitlines()) - 1


def tables(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each section of a page that has tables: its name for a file, and the rows of all its tables."""
    for section in text.split("\n## ")[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|") and not re.match(r"\|[-:| ]+$", line)]
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        if rows:
            yield re.sub(r"[^a-z0-9]+", "-", section.splitlines()[0].lower()).strip("-"), rows


def make(target: Path) -> None:
    """Make the deposit in a directory that is not there yet."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    target.mkdir(parents=True)
    figures = _graph(target / "hakoiri-musume") | {"growth": _growth(target / "growth")}
    figures["levels"] = "\n".join(_levels(target / "levels"))
    shutil.copytree(ROOT / "docs/reports/oeis", target / "oeis")
    shutil.copy(ROOT / "docs/data/corners.csv", target)
    (target / "atlas").mkdir()
    shutil.copytree(ROOT / "docs/reports/atlas", target / "atlas/certificates")
    for name, rows in tables((ROOT / "docs/reports/atlas.md").read_text(encoding="utf-8")):
        with (target / "atlas" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    for name in ("CITATION.cff", "LICENSE"):
        shutil.copy(ROOT / name, target)
    (target / "README.md").write_text(_README.format(title=_TITLE, version=version, **figures), encoding="utf-8")
    metadata = {
        "title": _TITLE, "upload_type": "dataset", "version": version, "license": "MIT",
        "creators": [{"name": "The authors of Hakoiri"}],
        "description": f"All {figures['configurations']:,} configurations of Hakoiri-musume (Klotski) with the "
        f"{figures['moves']:,} moves between them, components, diameters and depths; and tables of sliding tiles, "
        "pancakes, towers of Hanoi, solitaires and other puzzles, with certificates that can be verified; sizes of the "
        "layers of families of Cayley graphs; boards with their exact distances and solutions.",
        "keywords": ["state space", "breadth-first search", "sliding block puzzle", "Klotski", "diameter"],
    }  # fmt: skip
    (target / "metadata.json").write_text(json.dumps(metadata, indent=1) + "\n", encoding="utf-8")
    files = sorted(path for path in target.rglob("*") if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(target)}\n" for path in files]
    (target / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/deposit.py DIRECTORY")
    make(Path(sys.argv[1]))
