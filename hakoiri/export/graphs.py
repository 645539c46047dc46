"""Configurations and moves as graphs: numpy arrays, GraphML, and DOT for drawings of small runs."""

import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.stream import Rows, Stream
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.order import lower_bounds

#: Characters that XML forbids, escaped or not.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
#: The most configurations of a readable drawing.
_MOST_DRAWN = 2_000
_BUFFER_BYTES = 1 << 22
_MOST_INDICES = int(np.iinfo(np.int32).max)


def to_npz(stream: Stream, target: Path, moves: bool) -> int:
    """Write `keys`, `depths` (or `components`) and `edges`, index pairs into `keys`; return the number of keys.

    The keys are in memory; edges, of which there may be ten times as many, are written to disk as they are found.
    """
    if moves:
        text = "an .npz file holds numbers alone; for names of moves take .graphml, or a table of them"
        raise UnanswerableError(text, Hint("give", "edges", "FILE.csv"))
    if stream.count > _MOST_INDICES:
        raise UnanswerableError(
            f"{stream.count:,} configurations exceed the limit of an .npz file; use .csv or .parquet"
        )
    keys, labels = stream.puzzle.layout.empty(stream.count), np.empty(stream.count, dtype=np.uint32)
    done = 0
    for rows in stream.rows():
        keys[done : done + len(rows.keys)], labels[done : done + len(rows.keys)] = rows
        done += len(rows.keys)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive, TemporaryFile(dir=target.parent) as spilled:
        _entry(archive, "keys", keys.shape, keys.dtype, [keys.tobytes()])
        _entry(archive, f"{stream.label}s", labels.shape, labels.dtype, [labels.tobytes()])
        for edges in stream.edges():
            ends = [lower_bounds(keys, end).astype(np.int32) for end in edges]
            spilled.write(np.stack(ends, axis=1).tobytes())
        count = spilled.tell() // 8
        spilled.seek(0)
        _entry(archive, "edges", (count, 2), np.dtype(np.int32), iter(lambda: spilled.read(_BUFFER_BYTES), b""))
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
        for rows in stream.rows():
            file.writelines(_node(stream.label, *row) for row in _described(stream, rows))
        for source, other, move in _edges(stream, moves):
            named = f'<data key="move">{_xml_text(move)}</data>' if moves else ""
            file.write(f'<edge source="{source}" target="{other}">{named}</edge>\n')
        file.write("</graph>\n</graphml>\n")
    return stream.count


def _node(label: str, name: str, text: str, number: int, goal: bool) -> str:
    data = {"configuration": _xml_text(text), label: number, "goal": str(goal).lower()}
    inner = "".join(f'<data key="{key}">{value}</data>' for key, value in data.items())
    return f'<node id="{name}">{inner}</node>\n'


def _xml_text(text: str) -> str:
    return escape(_CONTROL.sub(_escaped, text))


def _escaped(control: re.Match[str]) -> str:
    """Return a control character as a Python escape, because XML cannot represent it, not even by a number."""
    return control[0].encode("unicode_escape").decode("ascii")


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
        for rows in stream.rows():
            for name, text, number, goal in _described(stream, rows):
                board = _dot_text(text.replace("/", "\n"))
                peripheries = " peripheries=2" if goal else ""
                file.write(f'  "{name}" [label={board} {stream.label}={number}{peripheries}];\n')
        for source, other, move in _edges(stream, True):
            file.write(f'  "{source}" {arrow} "{other}" [label={_dot_text(move)}];\n')
        file.write("}\n")
    return stream.count


def _described(stream: Stream, rows: Rows) -> Iterator[tuple[str, str, int, bool]]:
    keys, labels = rows
    goals = stream.puzzle.is_goal(keys).tolist()
    return zip(stream.names(keys), stream.texts(keys), labels.tolist(), goals, strict=True)


def _edges(stream: Stream, moves: bool) -> Iterator[tuple[str, str, str]]:
    """Yield source, target and, if `moves`, the description of each move."""
    for edges in stream.edges():
        names = stream.moves(edges) if moves else [""] * len(edges.sources)
        yield from zip(stream.names(edges.sources), stream.names(edges.targets), names, strict=True)


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
