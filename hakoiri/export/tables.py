"""Runs as tables: configurations and moves batch by batch, perfect play, rows of studies.

Memory holds little more than a batch, plus 32 bits per configuration for a whole space, or all keys for an unfinished
run.

Configurations have ``key``, ``configuration``, ``depth`` (or ``component``) and ``goal``; moves have the keys
``source`` and ``target``, and on request ``move``. In all files a key is the text ``0x...``, with as many digits as the
widest key needs, so that the order of texts is that of keys, and a goal is true or false. Only arrays (.npz) and
objects of Python have keys as numbers.

Perfect play has ``key``, ``configuration``, ``distance``, ``move`` and ``next``, the least key after a best move. Goals
have the distance 0 and no move. Configurations that lead to no goal have -1 and no move.
"""

import csv
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.keys.layout import U64, Keys, Layout, ints
from hakoiri.keys.order import less_than, members, order_of, sort_keys
from hakoiri.run.goals import goal_distances, hardest
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced, require_place
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results import Labels, read_labels
from hakoiri.worker.layers.kernels import simple_edges, split


def require_streamed(run: OpenRun, layers: int | None = None) -> None:
    """Raise `UnanswerableError` or `NotKeptError` unless layers 0 to `layers`, by default all, can be written."""
    run.require_graph()
    run.require_components()
    if layers is None:
        run.require_stored()


class Stream:
    """A run to be written; `label` names the number of each configuration. `control` may end it by `StopRun`."""

    def __init__(
        self, run: OpenRun, control: Control | None = None, observer: Observer | None = None, layers: int | None = None
    ) -> None:  # fmt: skip
        """With `layers`, stream only layers 0 to `layers`, and the moves between them."""
        self.run, self._control, self._observer = run, control or Control(), observer or SilentObserver()
        self.puzzle, self.label = run.puzzle, "component" if run.is_census else "depth"
        require_streamed(run, layers)
        last = run.store.state.depth
        self._layers = range(min(last, last if layers is None else layers) + 1)
        self._known: Keys | None = None
        if len(self._layers) <= last:
            self._known = sort_keys(np.concatenate([run.layer(depth) for depth in self._layers]))
        elif not run.exhausted:
            # Raises for a kind of run without configurations.
            self._known = run.configurations()[0]
        self.depth, self.whole = len(self._layers) - 1, len(self._layers) > last
        self.count = sum(run.layer_sizes[: len(self._layers)])

    def rows(self, doing: str = "writing configurations") -> Iterator[tuple[Keys, Labels]]:
        """Yield all configurations, strictly increasing, with each one's depth or, in a whole space, component."""
        done, started, size = 0, time.monotonic(), self.run.resources.tuning.written_rows
        for found in self._ranges():
            for keys, labels in zip(*(split(column, size) for column in found), strict=True):
                self._control.check()
                yield keys, labels
                done += len(keys)
                left = (time.monotonic() - started) / done * (self.count - done)
                self._observer.progress(Progress(done, self.count, headline=doing, step_left=left))

    def edges(self) -> Iterator[tuple[Keys, Keys]]:
        """Yield sources and targets of all moves between configurations, in the order of sources, then of targets.

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
            yield sources[chosen], targets[chosen]

    def names(self, keys: Keys) -> list[str]:
        """Return the keys as ``0x...``."""
        return list(map(self.puzzle.layout.text, ints(keys)))

    def moves(self, sources: Keys, targets: Keys) -> list[str]:
        return list(map(self.puzzle.describe_move, ints(sources), ints(targets)))

    def _ranges(self) -> Iterator[tuple[Keys, Labels]]:
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
                yield keys[order], depths[order]
            else:
                yield keys, components[done : done + len(keys)]
            done += len(keys)


#: The columns of a table, by name: key, text, integer, number (below 2**32), fraction or flag.
Columns = Mapping[str, str]
#: Writes a batch, a sequence of its columns.
Write = Callable[[Sequence[Any]], object]


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import into an `UnanswerableError` that names the extra with which the library is installed."""
    try:
        yield
    except ImportError as error:
        raise UnanswerableError(f"{what} needs {error.name}: pip install 'hakoiri[{extra}]'") from None


def require_ending(target: Path, endings: Iterable[str], doing: str = "export to", between: str = ", ") -> str:
    """Return the ending of a file; `UnanswerableError` for another than these."""
    if target.suffix not in endings:
        raise UnanswerableError(f"cannot {doing} {target.name!r}: the name must end in {between.join(endings)}")
    return target.suffix


def rows_to_table(stream: Stream, target: Path) -> int:
    """Write the configurations; return their number."""
    columns: Columns = {"key": "key", "configuration": "text", stream.label: "number", "goal": "flag"}
    with open_table(target, columns, stream.puzzle.layout) as write:
        for keys, labels in stream.rows():
            write([keys, stream.run.texts(keys), labels, stream.puzzle.is_goal(keys)])
    return stream.count


def edges_to_table(stream: Stream, target: Path, moves: bool) -> int:
    """Write the moves, with their descriptions if `moves`; return their number."""
    columns: Columns = {"source": "key", "target": "key"} | ({"move": "text"} if moves else {})
    count = 0
    with open_table(target, columns, stream.puzzle.layout) as write:
        for ends in stream.edges():
            count += len(ends[0])
            write([*ends, *([stream.moves(*ends)] if moves else [])])
    return count


@contextmanager
def open_table(target: Path, columns: Columns, layout: Layout = U64) -> Iterator[Write]:
    """Yield a function that writes a batch of a table, in the format given by the ending."""
    if target.suffix == ".parquet":
        pyarrow = pyarrow_here()
        from pyarrow import parquet

        types = {"key": pyarrow.string(), "text": pyarrow.string(), "integer": pyarrow.int64(),
                 "number": pyarrow.uint32(), "fraction": pyarrow.float64(), "flag": pyarrow.bool_()}  # fmt: skip
        schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])

        def array(column: Any, kind: str, type_: Any) -> Any:
            return pyarrow.array(list(map(layout.text, ints(column))) if kind == "key" else column, type=type_)

        with parquet.ParquetWriter(target, schema, compression="zstd") as writer:
            yield lambda batch: writer.write_batch(
                pyarrow.record_batch(list(map(array, batch, columns.values(), schema.types)), schema=schema)
            )
        return
    with target.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(columns)

        def cells(column: Any, kind: str) -> list[Any]:
            if kind == "key":
                return list(map(layout.text, ints(column)))
            found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column
            return [str(one).lower() for one in found] if kind == "flag" else found

        def write(batch: Sequence[Any]) -> None:
            if {*columns.values()} == {"key"}:
                file.write(_lines(layout, *batch))
            else:
                lines.writerows(zip(*map(cells, batch, columns.values()), strict=True))

        yield write


def pyarrow_here() -> Any:
    """Return the module pyarrow, an optional dependency."""
    with needing("parquet", "a .parquet file"):
        import pyarrow

    return pyarrow


def _lines(layout: Layout, *columns: Keys) -> str:
    """Return two columns of keys as lines of CSV, in the format of `Stream.names`, fast for millions."""
    cells, rows = [], len(columns[0])
    for keys, before in zip(columns, (b"0x", b",0x"), strict=True):
        for text in (before * rows, layout.big_endian(keys).hex().encode()):
            cells.append(np.frombuffer(text, dtype=np.uint8).reshape(rows, -1 if rows else 0))
    ends = np.frombuffer(b"\r\n" * rows, dtype=np.uint8).reshape(rows, -1 if rows else 0)
    return np.concatenate([*cells, ends], axis=1).tobytes().decode("ascii")


def require_play(target: Path) -> None:
    """Raise `UnanswerableError` for an ending of another format than `export_play` writes."""
    require_ending(target, [".csv"], "write perfect play to")


def export_play(run: OpenRun, target: Path, control: Control | None = None, observer: Observer | None = None) -> int:
    """Write the table of a finished run, in the order of keys; return the number of configurations.

    Goal distances that are not known are computed and kept first (`hardest`).
    """
    require_play(target)
    hardest(run, 1, control, observer)
    stream, render_move = Stream(run, control, observer), run.puzzle.describe_move
    columns: Columns = {"key": "key", "configuration": "text", "distance": "integer", "move": "text", "next": "text"}
    with replaced(target) as part, open_table(part, columns, run.puzzle.layout) as write:
        for keys, _ in stream.rows():
            targets, counts = simple_edges(keys, *run.puzzle.expand(keys))
            places: NDArray[np.intp] = np.repeat(np.arange(len(keys)), counts)
            distances = goal_distances(run, keys)
            before = distances[places]
            nearer = np.flatnonzero((before > 0) & (goal_distances(run, targets) == before - 1))
            # Targets of a source increase, and of equal places the first is taken: the least that is a move nearer.
            found, first = np.unique(places[nearer], return_index=True)
            moves, nexts = [""] * len(keys), [""] * len(keys)
            for place, key, after in zip(found.tolist(), ints(keys[found]), ints(targets[nearer[first]]), strict=True):
                moves[place], nexts[place] = render_move(key, after), run.puzzle.layout.text(after)
            write([keys, run.texts(keys), distances, moves, nexts])
    return stream.count


TABLES = (".csv", ".parquet")
#: The columns of studies that are texts or fractions; all others are whole numbers.
_KINDS: Columns = dict.fromkeys(
    ("mix", "one", "other", "hardest", "configuration", "name", "start", "board", "idle", "member", "deal",
     "outcome_first", "outcome_fixed", "seconds"), "text",
) | {"branching": "fraction"}  # fmt: skip
#: Rows per group of a Parquet file.
_GROUP = 10_000


def check_ending(target: Path) -> None:
    """Raise `UnanswerableError` or `NotWritableError` for a file that cannot be written, before the work for it."""
    if require_ending(target, TABLES, "write", " or ") == ".parquet":
        pyarrow_here()
    require_place(target)


def write_rows(rows: Iterator[dict[str, Any]], target: Path) -> int:
    """Write rows that all have the same names, at least one; return their number. Raises `NotWritableError`."""
    count = 0
    with replaced(target) as part:
        first = next(rows)
        rows = chain([first], rows)
        with open_table(part, {name: _KINDS.get(name, "integer") for name in first}) as write:
            while group := list(islice(rows, _GROUP)):
                write([[row[name] for row in group] for name in first])
                count += len(group)
    return count
