"""Reads runs through in another process: reading a damaged file may end in a signal."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def read_elsewhere(directories: Sequence[Path], asked: Sequence[int] = ()) -> list[dict[str, Any]]:
    """What each run says: its ``status``, ``depth``, and per layer its keys or ``"damaged"``.

    ``found`` has for each key of `asked` the depth where the run finds it, ``None`` or ``"damaged"``.
    Instead ``error`` for a run that is refused as a whole, ``escaped`` for any other exception, ``died`` for a signal.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(directories):
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.reading", json.dumps(list(asked))]
            + [str(directory) for directory in directories[len(found) :]],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        found += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            found.append({"died": done.returncode, "last words": done.stderr})
    return found


def _read(directory: Path, asked: list[int]) -> dict[str, Any]:
    from storage.errors import DamagedError, StorageError
    from storage.layers.store import RunStore

    def layer(depth: int) -> list[Any]:
        record = store.layer_record(depth)
        return [store.layer(depth).tolist(), record.size, record.digest, record.goals]

    def answer(question: Callable[[int], Any], about: int) -> Any:
        try:
            return question(about)
        except DamagedError:
            return "damaged"

    try:
        with RunStore(directory) as store:
            state = store.read_state()
            layers = [answer(layer, depth) for depth in range(state.depth + 1)]
            found = [answer(store.find, key) for key in asked]
            return {"status": state.status, "depth": state.depth, "layers": layers, "found": found}
    except StorageError as error:
        return {"error": str(error)}
    except Exception as error:
        return {"escaped": repr(error)}


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        print(json.dumps(_read(Path(argument), json.loads(sys.argv[1]))), flush=True)
