"""Definitions of other people's collections, and the layers that a program apart from this project counted.

`EXPECTED` has for each file its SHA-256, the moves that are no turns of the whole puzzle, and first layers by metric.
``complete`` says that these are all; ``refused`` is what the error of a file says that is not read; ``options`` are
those by which the pieces are taken that were counted. The files stay with
their authors; `HAKOIRI_DEFINITIONS` names a folder that has them. To try one:

    python -m tests.support.definitions_corpus FILE [METRIC [MOST]]

To try all of them, and write what is refused into the table, leave FILE out.
"""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".json")
EXPECTED: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
FOLDER = Path(os.environ.get("HAKOIRI_DEFINITIONS", ""))
#: Layers are compared up to this many configurations, unless more are asked for.
MOST, _SECONDS = 30_000, 100
_MOST_BYTES = 3_000_000_000


def digest_of(file: str) -> str:
    return hashlib.sha256((FOLDER / file).read_bytes()).hexdigest()


def cut(layers: list[int], most: int) -> list[int]:
    """Return the first layers that have together at most so many configurations, at least two of them."""
    return [size for index, size in enumerate(layers) if index < 2 or sum(layers[: index + 1]) <= most]


def tried(file: str, metric: str, most: int = MOST) -> dict[str, Any]:
    """Return what a process of its own finds: layers or an error, moves, CPU seconds and bytes."""
    command = [sys.executable, "-m", "tests.support.definitions_corpus", file, metric, str(most)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {"crash": f"no end after {_SECONDS} s"}
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        found = {"crash": (done.stderr.strip() or str(done.returncode))[-300:]}
    return found


def _run(file: str, metric: str, most: int) -> dict[str, Any]:
    """Run a file in this process."""
    from hakoiri import explore
    from hakoiri.errors import HakoiriError
    from hakoiri.puzzles.registry import PuzzleSpec, with_own_file

    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found: dict[str, Any] = {}
    expected, options = EXPECTED[file].get(metric, [1, 0]), {"metric": metric, **EXPECTED[file].get("options", {})}
    with tempfile.TemporaryDirectory() as data:
        try:
            moves = with_own_file(PuzzleSpec(str(FOLDER / file), options)).build()
            layers = len(cut(expected, most)) - 1
            whole = EXPECTED[file].get("complete", "") in ("yes", metric) and layers + 1 == len(expected)
            found["moves"] = moves.definition.usual  # type: ignore[attr-defined]
            with explore(str(FOLDER / file), options, layers=None if whole else layers, data=data) as run:
                found["layers"] = run.layer_sizes
        except HakoiriError as error:
            found["error"] = str(error)
    found["seconds"] = round(time.process_time() - began, 1)
    found["megabytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000
    return found


def _all() -> None:
    """Try all files by all metrics; write what is refused, and print what differs."""
    right = 0
    for file, expected in EXPECTED.items():
        expected.pop("refused", None)
        for metric in [each for each in ("half", "quarter") if each in expected]:
            found = tried(file, metric)
            if "layers" not in found:
                expected["refused"] = found.get("error", "crash")
            fine = found.get("layers") == cut(expected[metric], MOST)
            print(file, metric, "as counted" if fine else found, found.get("seconds"), found.get("megabytes"))
        right += "refused" not in expected
    print(right, "of", len(EXPECTED), "are read")
    text = ",\n".join(f" {json.dumps(file)}: {json.dumps(fields)}" for file, fields in EXPECTED.items())
    TABLE.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        _all()
    else:
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        _file, _metric, _most = [*sys.argv[1:], *["half", str(MOST)][len(sys.argv) - 2 :]]
        print(json.dumps(_run(_file, _metric, int(_most))))
