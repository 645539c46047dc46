"""Configurations and moves as graphs: arrays, GraphML, DOT, objects of pandas, networkx and scipy; and maps.

Keys of up to 64 bits are a column of unsigned integers; wider ones are integers of Python. A file of a map has:

    0   8 bytes   ``HAKOMAP1``
    8   uint32    length of the JSON, spaces at its end included
    12  JSON      `map_row` and ``arrays``: a list of ``name``, ``type``, ``shape``, ``offset``

``type`` is float32, int32, uint32 or uint8; ``offset`` counts bytes from the beginning of the file, and is a multiple
of 8. Point 0 is the origin, and the others follow by their distance from it:

    places          float32 (points, axes)   coordinates of a point, in units of a move
    moves           uint32 (moves, 2)        points connected by a move, in an undirected puzzle each once
    keys            uint8 (points, bytes)    the packed key of each point, its highest byte first
    depth           int32 (points)           moves from the origin; -1 in all three: there is no path
    goal_distance   int32 (points)           moves to the nearest goal, if they are known
    eccentricity    int32 (points)           moves to the farthest configuration, of a whole undirected component
"""

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.tables import Stream, needing
from hakoiri.guest_table import ANSWERS
from hakoiri.keys.layout import ints, key_at, layout_of
from hakoiri.keys.order import lower_bounds
from hakoiri.loading import loaded
from hakoiri.run.maps import Map
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced

if TYPE_CHECKING:
    import networkx
    import pandas
    import scipy

    from hakoiri.keys.layout import Key

#: Characters that XML forbids, escaped or not.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
#: The most configurations of a readable drawing.
_MOST_DRAWN = 2_000
_BUFFER_BYTES = 1 << 22
_MOST_INDICES = int(np.iinfo(np.int32).max)


def to_npz(stream: Stream, target: Path, moves: bool) -> int:
    """Write `keys`, `depths` or `components`, `goals`, and `edges` as indices of keys; return the number of keys.

    With `moves`, also `moves`, an index into `names` for each edge: the name of its move from the first to the second.
    The keys are in memory; edges, of which there may be ten times as many, are written to disk as they are found.
    """
    if stream.count > _MOST_INDICES:
        raise UnanswerableError(
            f"{stream.count:,} configurations exceed the limit of an .npz file; use .csv or .parquet"
        )
    keys, labels = stream.puzzle.layout.empty(stream.count), np.empty(stream.count, dtype=np.uint32)
    goals, names, done = np.empty(stream.count, dtype=np.bool_), dict[str, int](), 0
    for rows in stream.rows():
        end = done + len(rows[0])
        (keys[done:end], labels[done:end]), goals[done:end] = rows, stream.puzzle.is_goal(rows[0])
        done = end
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive,
        TemporaryFile(dir=target.parent) as spilled,
        TemporaryFile(dir=target.parent) as spilled_moves,
    ):
        _entry(archive, "keys", keys.shape, keys.dtype, [keys.tobytes()])
        _entry(archive, f"{stream.label}s", labels.shape, labels.dtype, [labels.tobytes()])
        _entry(archive, "goals", goals.shape, goals.dtype, [goals.tobytes()])
        for edges in stream.edges():
            if moves:
                numbers = [names.setdefault(name, len(names)) for name in stream.moves(*edges)]
                spilled_moves.write(np.array(numbers, dtype=np.int32).tobytes())
            ends = [lower_bounds(keys, end).astype(np.int32) for end in edges]
            spilled.write(np.stack(ends, axis=1).tobytes())
        count = spilled.tell() // 8
        spilled.seek(0)
        _entry(archive, "edges", (count, 2), np.dtype(np.int32), iter(lambda: spilled.read(_BUFFER_BYTES), b""))
        if moves:
            spilled_moves.seek(0)
            _entry(archive, "moves", (count,), np.dtype(np.int32), iter(lambda: spilled_moves.read(_BUFFER_BYTES), b""))
            texts = np.array([*names], dtype=np.str_)
            _entry(archive, "names", texts.shape, texts.dtype, [texts.tobytes()])
    return stream.count


def _entry(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], parts: Iterable[bytes]
) -> None:
    """Write an array of an .npz file, as `numpy.save` would."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(part)


def to_graphml(stream: Stream, target: Path, moves: bool) -> int:
    """Write a graph with the texts of configurations, and of moves if `moves`; return the number of configurations."""
    direction = "undirected" if stream.puzzle.undirected else "directed"
    types = (("configuration", "string"), (stream.label, "long"), ("goal", "boolean"))
    with target.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, kind in types:
            file.write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
        if moves:
            file.write('<key id="move" for="edge" attr.name="move" attr.type="string"/>\n')
        file.write(f'<graph id={quoteattr(stream.run.name)} edgedefault="{direction}">\n')
        for name, text, number, goal in _described(stream):
            data = {"configuration": _xml_text(text), stream.label: number, "goal": str(goal).lower()}
            inner = "".join(f'<data key="{key}">{value}</data>' for key, value in data.items())
            file.write(f'<node id="{name}">{inner}</node>\n')
        for source, other, move in _edges(stream, moves):
            named = f'<data key="move">{_xml_text(move)}</data>' if moves else ""
            file.write(f'<edge source="{source}" target="{other}">{named}</edge>\n')
        file.write("</graph>\n</graphml>\n")
    return stream.count


def _xml_text(text: str) -> str:
    # XML cannot represent a control character, not even by a number: it becomes a Python escape.
    return escape(_CONTROL.sub(lambda control: control[0].encode("unicode_escape").decode("ascii"), text))


def to_dot(stream: Stream, target: Path, moves: bool) -> int:
    """Write a drawing for Graphviz: boards, goals with a double frame, moves by name; return the number of boards."""
    if stream.count > _MOST_DRAWN:
        raise UnanswerableError(
            f"{stream.count:,} configurations exceed the limit of {_MOST_DRAWN:,} for .dot; use .graphml"
        )
    kind, arrow = ("graph", "--") if stream.puzzle.undirected else ("digraph", "->")
    with target.open("w", encoding="utf-8") as file:
        file.write(f"{kind} {_dot_text(stream.run.name)} {{\n")
        file.write('  node [shape=box fontname="monospace"]; edge [fontname="sans-serif" fontsize=9];\n')
        for name, text, number, goal in _described(stream):
            board = _dot_text(text.replace("/", "\n"))
            peripheries = " peripheries=2" if goal else ""
            file.write(f'  "{name}" [label={board} {stream.label}={number}{peripheries}];\n')
        for source, other, move in _edges(stream, True):
            file.write(f'  "{source}" {arrow} "{other}" [label={_dot_text(move)}];\n')
        file.write("}\n")
    return stream.count


def _described(stream: Stream) -> Iterator[tuple[str, str, int, bool]]:
    for keys, labels in stream.rows():
        goals = stream.puzzle.is_goal(keys).tolist()
        yield from zip(stream.names(keys), stream.run.texts(keys), labels.tolist(), goals, strict=True)


def _edges(stream: Stream, moves: bool) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and, if `moves`, the description of each move."""
    for sources, targets in stream.edges():
        names = stream.moves(sources, targets) if moves else [""] * len(sources)
        yield from zip(stream.names(sources), stream.names(targets), names, strict=True)


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_EXTRA = "notebook"


def to_dataframe(run: OpenRun, layers: int | None = None) -> "pandas.DataFrame":
    """Return the configurations as a data frame: ``key``, ``configuration``, ``depth`` or ``component``, ``goal``.

    They are in the order of the keys; with `layers`, only layers 0 to `layers`. A study gives its rows, a tree
    ``orbit``, ``key`` and ``solution``. Needs the extra ``hakoiri[notebook]``.
    """
    with needing(_EXTRA, "a data frame"):
        import pandas as pd

    if run.puzzle.is_tree:
        solutions = loaded(ANSWERS["each solution"])
        found = [(orbit, key, run.puzzle.render(key)) for orbit, key in solutions(run, images=False)]
        return pd.DataFrame(found, columns=["orbit", "key", "solution"])
    if (rows := run.kind(run.store, run.puzzle).rows()) is not None:
        return pd.DataFrame(list(rows))
    stream, parts = Stream(run, layers=layers), []
    for keys, labels in stream.rows():
        named = {"key": keys if keys.ndim == 1 else ints(keys), "configuration": stream.run.texts(keys)}
        parts.append(pd.DataFrame(named | {stream.label: labels, "goal": stream.puzzle.is_goal(keys)}))
    return pd.concat(parts, ignore_index=True)


def to_networkx(run: OpenRun, layers: int | None = None, moves: bool = False) -> "networkx.Graph[Key]":
    """Return the moves as a graph, directed if the puzzle is; its nodes are keys, and have the columns of a frame.

    With `moves` an edge has the name of its ``move``, as the file formats have it.
    It takes about 1 kB a configuration. Needs the extra ``hakoiri[notebook]``.
    """
    with needing(_EXTRA, "a graph of networkx"):
        import networkx as nx

    stream = Stream(run, layers=layers)
    graph: networkx.Graph[Key] = nx.Graph() if run.puzzle.undirected else nx.DiGraph()
    for keys, labels in stream.rows():
        described = zip(ints(keys), run.texts(keys), labels.tolist(), run.puzzle.is_goal(keys).tolist(), strict=True)
        graph.add_nodes_from(
            (key, {"configuration": text, stream.label: label, "goal": goal}) for key, text, label, goal in described
        )
    for ends in stream.edges():
        named = [{"move": name} for name in stream.moves(*ends)] if moves else [{}] * len(ends[0])
        graph.add_edges_from(zip(*map(ints, ends), named, strict=True))
    return graph


def to_scipy(run: OpenRun) -> "scipy.sparse.csr_array":
    """Return the moves as a sparse matrix, 1 where a move leads from a row to a column, in the order of the keys.

    `configurations()` and `to_dataframe()` have the same order. Needs the extra ``hakoiri[notebook]``.
    """
    with needing(_EXTRA, "a matrix of scipy"):
        from scipy.sparse import csr_array

    keys, graph = run.graph()
    ones = np.ones(len(graph.targets), dtype=np.int32)
    return csr_array((ones, graph.targets, graph.offsets), shape=(len(keys), len(keys)))


MAGIC = b"HAKOMAP1"
#: The ending of the file's name.
ENDING = "hakomap"
#: Header and arrays are padded to a multiple of this.
_ALIGNED = 8


def write_map(run: OpenRun, found: Map, target: Path) -> None:
    """Write a map of `run` to `target`, replacing it in one step."""
    keys = np.frombuffer(layout_of(found.keys).big_endian(found.keys), dtype=np.uint8)
    parts = {
        "places": found.places.astype("<f4"),
        "moves": found.moves.astype("<u4"),
        "keys": keys.reshape(len(found.keys), -1),
        "depth": found.depths.astype("<i4"),
        "goal_distance": None if found.goals is None else found.goals.astype("<i4"),
        "eccentricity": None if found.eccentricities is None else found.eccentricities.astype("<i4"),
    }
    arrays = {name: array for name, array in parts.items() if array is not None}
    with replaced(target) as part, part.open("wb") as file:
        file.write(_header(run, found, arrays))
        for array in arrays.values():
            file.write(array.tobytes() + bytes(_padding(array)))


def map_row(run: OpenRun, found: Map) -> dict[str, Any]:
    """Return the description of a map: component, shown part, origin."""
    origin = key_at(found.keys, 0)
    return {
        "component": found.component,
        "size": found.size,
        "configurations": len(found.keys),
        "whole": found.whole,
        "moves": len(found.moves),
        "undirected": run.puzzle.undirected,
        "origin": run.puzzle.render(origin),
        "start": origin == run.puzzle.start,
        "depth": int(found.depths.max()),
        "axes": found.places.shape[1],
        "stress": round(found.stress, 5),
    }


def _header(run: OpenRun, found: Map, arrays: dict[str, np.ndarray]) -> bytes:
    """Return magic, length and JSON; the offsets in the JSON depend on its length, so it is padded to the longest."""
    row = {"run": run.name} | map_row(run, found)
    most = len(json.dumps(row)) + 100 * (len(arrays) + 1)
    begin = offset = len(MAGIC) + 4 + most + -(len(MAGIC) + 4 + most) % _ALIGNED
    listed = []
    for name, array in arrays.items():
        listed.append({"name": name, "type": array.dtype.name, "shape": array.shape, "offset": offset})
        offset += array.nbytes + _padding(array)
    text = json.dumps(row | {"arrays": listed}).encode().ljust(begin - len(MAGIC) - 4)
    return MAGIC + len(text).to_bytes(4, "little") + text


def _padding(array: np.ndarray) -> int:
    """Return the number of bytes between an array and the next one."""
    return -array.nbytes % _ALIGNED
