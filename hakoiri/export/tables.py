"""Runs as tables: configurations and moves batch by batch, perfect play, rows of studies, solutions of trees.

Memory holds little more than a batch, plus 32 bits per configuration for a whole space, or all keys for an unfinished
run.

Configurations have ``key``, ``configuration``, ``depth`` (or ``component``) and ``goal``; moves have the keys
``source`` and ``target``, and on request ``move``. In CSV a key is written ``0x...``; in Parquet it is an unsigned
integer, or if it is wider than 64 bits binary, the most significant byte first.

Perfect play has ``key``, ``configuration``, ``distance``, ``move`` and ``next``, the least key after a best move. Goals
have the distance 0 and no move. Configurations that lead to no goal have -1 and no move.
"""

import csv
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.keys.layout import Key, Keys, Layout, ints
from hakoiri.keys.order import less_than, members, order_of, sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.run.goals import goal_distances, hardest
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced, require_place
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results import Labels, read_labels
from hakoiri.worker.layers.kernels import simple_edges, split


class Rows(NamedTuple):
    """A batch of configurations with each one's depth or, in a whole space, component."""

    keys: Keys
    labels: Labels


class Edges(NamedTuple):
    """A batch of moves: `sources` and `targets` are keys, one per move."""

    sources: Keys
    targets: Keys


class Stream:
    """A run to be written; `label` names the number of each configuration. `control` may end it by `StopRun`."""

    def __init__(
        self, run: OpenRun, control: Control | None = None, observer: Observer | None = None, layers: int | None = None
    ) -> None:  # fmt: skip
        """With `layers`, stream only layers 0 to `layers`, and the moves between them."""
        self.run, self._control, self._observer = run, control or Control(), observer or SilentObserver()
        run.require_components()
        last = run.store.state.depth
        self._layers = range(min(last, last if layers is None else layers) + 1)
        self._known: Keys | None = None
        if len(self._layers) <= last:
            self._known = sort_keys(np.concatenate([run.layer(depth) for depth in self._layers]))
        elif not run.exhausted:
            # Raises for a kind of run without configurations.
            self._known = run.configurations()[0]
        self.count = sum(run.layer_sizes[: len(self._layers)])

    @property
    def puzzle(self) -> Puzzle:
        return self.run.puzzle

    @property
    def label(self) -> str:
        """The meaning of `Rows.labels`."""
        return "component" if self.run.is_census else "depth"

    def rows(self, doing: str = "writing configurations") -> Iterator[Rows]:
        """Yield all configurations, strictly increasing."""
        done, started, size = 0, time.monotonic(), self.run.resources.tuning.written_rows
        for rows in self._ranges():
            for keys, labels in zip(split(rows.keys, size), split(rows.labels, size), strict=True):
                self._control.check()
                yield Rows(keys, labels)
                done += len(keys)
                left = (time.monotonic() - started) / done * (self.count - done)
                self._observer.progress(Progress(done, self.count, headline=doing, step_left=left))

    def edges(self) -> Iterator[Edges]:
        """Yield all moves between configurations, in the order of their sources, then of their targets.

        In an undirected puzzle each move occurs once, from the lesser key; in a directed puzzle every move occurs.
        """
        for keys, _ in self.rows("writing moves"):
            targets, counts = simple_edges(keys, *self.puzzle.expand(keys))
            sources = np.repeat(keys, counts, axis=0)
            chosen = np.ones(len(sources), dtype=np.bool_)
            if self.puzzle.undirected:
                chosen &= less_than(sources, targets)
            if self._known is not None:
                chosen &= members(self._known, targets)
            yield Edges(sources[chosen], targets[chosen])

    def texts(self, keys: Keys) -> list[str]:
        return list(map(self.puzzle.render, ints(keys)))

    def names(self, keys: Keys) -> list[str]:
        """Return the keys as ``0x...``."""
        return [self.name(key) for key in ints(keys)]

    def name(self, key: Key) -> str:
        return f"{key:#0{self.puzzle.layout.digits}x}"

    def moves(self, edges: Edges) -> list[str]:
        return list(map(self.puzzle.describe_move, ints(edges.sources), ints(edges.targets)))

    def _ranges(self) -> Iterator[Rows]:
        """Yield the same in ranges that begin with a block of some layer."""
        store = self.run.store
        layers = self._layers
        for depth in layers:
            store.require_whole(depth)
        firsts = sorted(key for depth in layers for key in store.first_keys(depth))
        components, done = read_labels(store, self.count) if self.run.is_census else None, 0
        for low, high in pairwise(
            [*firsts[:: self.run.resources.tuning.written_blocks], self.puzzle.layout.greatest + 1]
        ):
            parts = [store.slice(depth, low, high) for depth in layers]
            keys = np.concatenate(parts)
            if components is None:
                depths = np.repeat(np.arange(len(parts), dtype=np.uint32), [len(part) for part in parts])
                order = order_of(keys)
                yield Rows(keys[order], depths[order])
            else:
                yield Rows(keys, components[done : done + len(keys)])
            done += len(keys)


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


ENDING = ".csv"


def export_play(run: OpenRun, target: Path, control: Control | None = None, observer: Observer | None = None) -> int:
    """Write the table of a finished run, in the order of keys; return the number of configurations.

    Goal distances that are not known are computed and kept first (`hardest`).
    """
    if target.suffix != ENDING:
        raise UnanswerableError(f"cannot write perfect play to {target.name!r}: the name must end in {ENDING}")
    hardest(run, 1, control, observer)
    stream = Stream(run, control, observer)
    with replaced(target) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "configuration", "distance", "move", "next"])
        for keys, _ in stream.rows():
            targets, counts = simple_edges(keys, *run.puzzle.expand(keys))
            places: NDArray[np.intp] = np.repeat(np.arange(len(keys)), counts)
            distances = goal_distances(run, keys)
            before = distances[places]
            nearer = np.flatnonzero((before > 0) & (goal_distances(run, targets) == before - 1))
            # Targets of a source increase, and of equal places the first is taken: the least that is a move nearer.
            found, first = np.unique(places[nearer], return_index=True)
            nexts = dict(zip(found.tolist(), ints(targets[nearer[first]]), strict=True))
            named = zip(ints(keys), stream.names(keys), stream.texts(keys), distances.tolist(), strict=True)
            for place, (key, name, text, distance) in enumerate(named):
                after = nexts.get(place)
                last = ["", ""] if after is None else [run.puzzle.describe_move(key, after), stream.name(after)]
                writer.writerow([name, text, distance, *last])
    return stream.count


_ENDINGS = (".csv", ".parquet")
#: Columns of texts, and of fractions; all others are whole numbers.
_TEXTS = (
    "mix", "one", "other", "hardest", "configuration", "name", "start", "board", "idle", "member", "deal",
    "outcome_first", "outcome_fixed", "seconds",
)  # fmt: skip
_FRACTIONS = ("branching",)
#: Rows per group of a Parquet file.
_GROUP = 10_000


def check_ending(target: Path) -> None:
    """Raise `UnanswerableError` or `NotWritableError` for a file that cannot be written, before the work for it."""
    if target.suffix not in _ENDINGS:
        raise UnanswerableError(f"cannot write {target.name!r}: the name must end in {' or '.join(_ENDINGS)}")
    if target.suffix == ".parquet":
        pyarrow_here()
    require_place(target)


def write_rows(rows: Iterator[dict[str, Any]], target: Path) -> int:
    """Write rows that all have the same names, at least one; return their number. Raises `NotWritableError`."""
    with replaced(target) as part:
        return (_to_parquet if target.suffix == ".parquet" else _to_csv)(rows, part)


def _to_csv(rows: Iterator[dict[str, Any]], target: Path) -> int:
    first, count = next(rows), 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        for row in chain([first], rows):
            writer.writerow(row)
            count += 1
    return count


def _to_parquet(rows: Iterator[dict[str, Any]], target: Path) -> int:
    pyarrow, count = pyarrow_here(), 0
    from pyarrow import parquet

    first = next(rows)
    types = dict.fromkeys(_TEXTS, pyarrow.string()) | dict.fromkeys(_FRACTIONS, pyarrow.float64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.int64())) for name in first])
    rows = chain([first], rows)
    with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))
            count += len(group)
    return count


def solutions_to_csv(run: OpenRun, target: Path, images: bool) -> int:
    """Write orbit, key and text of each solution; return their number."""
    width, count = run.puzzle.layout.digits, 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["orbit", "key", "solution"])
        for orbit, key in solutions(run, images):
            writer.writerow([orbit, f"{key:#0{width}x}", run.puzzle.render(key)])
            count += 1
    return count


def solutions_to_npz(run: OpenRun, target: Path, images: bool) -> int:
    """Write `orbits`, `keys`, and `numbers` by point, shape (solutions, points); return the number."""
    found = list(solutions(run, images))
    keys = run.puzzle.keys([key for _, key in found])
    orbits = np.array([orbit for orbit, _ in found], dtype=np.uint32)
    with target.open("wb") as file:
        np.savez_compressed(file, orbits=orbits, keys=keys, numbers=run.tree.placings(keys))
    return len(found)


def solutions(run: OpenRun, images: bool) -> Iterator[tuple[int, int]]:
    """Yield the number of the orbit and the key of each solution."""
    found = (key for batch in run.solutions() for key in ints(batch))
    for orbit, key in enumerate(found):
        yield from ((orbit, image) for image in (run.tree.images(key) if images else [key]))
