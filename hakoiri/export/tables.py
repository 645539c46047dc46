"""Configurations and moves as tables: CSV, and Parquet if pyarrow is installed.

Configurations have ``key``, ``configuration``, ``depth`` (or ``component``) and ``goal``; moves have the keys
``source`` and ``target``, and on request ``move``. In CSV a key is written ``0x...``; in Parquet it is an unsigned
integer, or if it is wider than 64 bits binary, the most significant byte first.
"""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.stream import Stream
from hakoiri.puzzles.keys.layout import Keys, Layout

_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import into an `UnanswerableError` that names the extra with which the library is installed."""
    try:
        yield
    except ImportError as error:
        raise UnanswerableError(f"{what} needs {error.name}: pip install 'hakoiri[{extra}]'") from None


def rows_to_csv(stream: Stream, target: Path) -> int:
    """Write the configurations; return their number."""
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "configuration", stream.label, "goal"])
        for keys, labels in stream.rows():
            goals = stream.puzzle.is_goal(keys).astype(np.uint8)
            writer.writerows(zip(stream.names(keys), stream.texts(keys), labels.tolist(), goals.tolist(), strict=True))
    return stream.count


def edges_to_csv(stream: Stream, target: Path, moves: bool) -> int:
    """Write the moves, with their descriptions if `moves`; return their number."""
    count = 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target", *(["move"] if moves else [])])
        for edges in stream.edges():
            count += len(edges.sources)
            if moves:
                names = (stream.names(edges.sources), stream.names(edges.targets), stream.moves(edges))
                writer.writerows(zip(*names, strict=True))
            else:
                file.write(_lines(stream.puzzle.layout, *edges))
    return count


def rows_to_parquet(stream: Stream, target: Path) -> int:
    """Write the configurations; return their number."""
    pyarrow, layout = pyarrow_here(), stream.puzzle.layout
    types = {"configuration": pyarrow.string(), stream.label: pyarrow.uint32(), "goal": pyarrow.bool_()}
    with _parquet(target, {"key": _key_type(layout)} | types) as write:
        for keys, labels in stream.rows():
            write([_key_column(layout, keys), stream.texts(keys), labels, stream.puzzle.is_goal(keys)])
    return stream.count


def edges_to_parquet(stream: Stream, target: Path, moves: bool) -> int:
    """Write the moves, with their descriptions if `moves`; return their number."""
    pyarrow, layout, count = pyarrow_here(), stream.puzzle.layout, 0
    types = {"source": _key_type(layout), "target": _key_type(layout)} | ({"move": pyarrow.string()} if moves else {})
    with _parquet(target, types) as write:
        for edges in stream.edges():
            count += len(edges.sources)
            columns = [_key_column(layout, keys) for keys in edges]
            write([*columns, *([stream.moves(edges)] if moves else [])])
    return count


@contextmanager
def _parquet(target: Path, types: dict[str, Any]) -> Iterator[Callable[[list[Any]], None]]:
    """Yield a function that writes a batch, a list of its columns."""
    pyarrow = pyarrow_here()
    from pyarrow import parquet

    schema = pyarrow.schema(list(types.items()))
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:

        def write(columns: list[Any]) -> None:
            arrays = [pyarrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))

        yield write


def pyarrow_here() -> Any:
    """Return the module pyarrow, an optional dependency."""
    with needing("parquet", "a .parquet file"):
        import pyarrow

    return pyarrow


def _key_type(layout: Layout) -> Any:
    pyarrow = pyarrow_here()
    return pyarrow.from_numpy_dtype(layout.dtype) if layout.words == 1 else pyarrow.binary(layout.bytes)


def _key_column(layout: Layout, keys: Keys) -> Any:
    if layout.words == 1:
        return keys
    pyarrow = pyarrow_here()
    raw = pyarrow.py_buffer(layout.big_endian(keys))
    return pyarrow.FixedSizeBinaryArray.from_buffers(pyarrow.binary(layout.bytes), len(keys), [None, raw])


def _lines(layout: Layout, *columns: Keys) -> str:
    """Return two columns of keys as lines of CSV, in the format of `Stream.names`, fast for millions."""
    cells = []
    for keys, before in zip(columns, ("0x", ",0x"), strict=True):
        cells += [_repeated(before, len(keys)), _digits(layout, keys)]
    return np.concatenate([*cells, _repeated("\r\n", len(cells[-1]))], axis=1).tobytes().decode("ascii")


def _repeated(text: str, times: int) -> NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text.encode(), dtype=np.uint8), (times, len(text)))


def _digits(layout: Layout, keys: Keys) -> NDArray[np.uint8]:
    """Return the hexadecimal digits of each key, a row of characters each."""
    raw = np.frombuffer(layout.big_endian(keys), dtype=np.uint8).reshape(len(keys), layout.bytes)
    return _HEXADECIMAL[np.stack([raw >> 4, raw & 15], axis=2)].reshape(len(keys), 2 * layout.bytes)
