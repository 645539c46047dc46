"""Reads runs through in another process: reading a damaged file may end in a signal."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def read_elsewhere(directories: Sequence[Path]) -> list[dict[str, Any]]:
    """What each run says: its ``status``, ``depth`` and per layer its keys or ``None`` where it is damaged.

    Instead ``error`` for a run that is refused as a whole, ``escaped`` for any other exception, ``died`` for a signal.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(directories):
        done = subprocess.run(
            [sys.executable, "-m", "tests.unit.reading", *map(str, directories[len(found) :])],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        found += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            found.append({"died": done.returncode, "last words": done.stderr})
    return found


def _read(directory: Path) -> dict[str, Any]:
    from storage.errors import StorageError
    from storage.store import RunStore

    def layer(store: RunStore, depth: int) -> list[Any] | None:
        try:
            record = store.layer_record(depth)
            return [store.layer(depth).tolist(), record.size, record.digest, record.goals]
        except StorageError:
            return None

    try:
        with RunStore(directory) as store:
            state = store.read_state()
            layers = [layer(store, depth) for depth in range(state.depth + 1)]
            return {"status": state.status, "depth": state.depth, "layers": layers}
    except StorageError as error:
        return {"error": str(error)}
    except Exception as error:
        return {"escaped": repr(error)}


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(json.dumps(_read(Path(argument))), flush=True)
