"""Reads runs through in a forked process: reading a damaged file may end in a signal."""

from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakoiri.storage.errors import DamagedError, StorageError
from hakoiri.storage.layers.store import RunStore
from tests.support.forking import SERVER

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ROOT = Path(__file__).resolve().parents[2]


def read_elsewhere(directories: Sequence[Path], asked: Sequence[int] = ()) -> list[dict[str, Any]]:
    """What each run says: its ``status``, ``depth``, and per layer its keys or ``"damaged"``.

    ``found`` has for each key of `asked` the depth where the run finds it, ``None`` or ``"damaged"``.
    Instead ``error`` for a run that is refused as a whole, ``escaped`` for any other exception, ``died`` for a signal.
    """
    found: list[dict[str, Any]] = []
    while len(found) < len(directories):
        ours, theirs = Pipe(duplex=False)
        with ours:
            process = SERVER.Process(target=_read_all, args=(directories[len(found) :], list(asked), theirs))
            process.start()
            theirs.close()
            try:
                while len(found) < len(directories):
                    found.append(ours.recv())
            except EOFError:
                process.join()
                found.append({"died": process.exitcode})
            process.join()
    return found


def _read_all(directories: Sequence[Path], asked: list[int], answers: "Connection") -> None:
    for directory in directories:
        answers.send(_read(directory, asked))


def _read(directory: Path, asked: list[int]) -> dict[str, Any]:
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
