"""A run as a file for other programs: CSV, numpy or GraphML, by the name's ending."""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

import numpy as np

from coordinator.errors import UnanswerableError
from hakoiri.api import Run
from puzzles.capabilities import Placements
from puzzles.keys.layout import ints
from storage.engine.files import replaced

#: What no XML file may hold, escaped or not.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def export_run(run: Run, target: Path, images: bool = False) -> int:
    """Write `run` to `target`, replacing it in one step; returns the number of configurations or solutions.

    ``.csv``: key, configuration, depth (or component), goal, one line per configuration in key order. ``.npz``: arrays
    `keys`, `depths` (or `components`), and the moves as `edges`, shape (edges, 2), indices into `keys`, each
    unordered pair once, of a directed puzzle each move, from where to where. ``.graphml``: the same graph with the
    texts, for Gephi, igraph, networkx.

    Of a tree the solutions that it kept: ``.csv`` orbit, key, solution; ``.npz`` arrays `orbits`, `keys`, and `numbers`
    by point, shape (solutions, points). One solution of each orbit, the least, or with `images` all of them.
    """
    formats = _tree_formats(images) if isinstance(run.puzzle, Placements) else FORMATS
    if images and formats is FORMATS:
        raise UnanswerableError(f"run {run.name} is no tree, its configurations have no images: leave out --images")
    if target.suffix not in formats:
        raise UnanswerableError(f"cannot export to {target.name!r}: the name must end in {', '.join(formats)}")
    with replaced(target) as part:
        return formats[target.suffix](run, part)


def _labels(run: Run) -> str:
    return "component" if run.whole else "depth"


def _write_csv(run: Run, target: Path) -> int:
    keys, labels = run.configurations()
    goals = run.puzzle.is_goal(keys)
    width = run.puzzle.layout.digits
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["key", "configuration", _labels(run), "goal"])
        for key, label, goal in zip(ints(keys), labels.tolist(), goals.tolist(), strict=True):
            writer.writerow([f"{key:#0{width}x}", run.puzzle.render(key), label, int(goal)])
    return len(keys)


def _edges(run: Run) -> tuple[np.ndarray, np.ndarray]:
    keys, graph = run.graph()
    sources = np.repeat(np.arange(len(keys), dtype=np.int32), np.diff(graph.offsets))
    # A move that can be taken back stands once, from the lesser key; of a directed puzzle every move does.
    chosen = sources < graph.targets if run.puzzle.undirected else np.ones(len(sources), dtype=np.bool_)
    return keys, np.stack([sources[chosen], graph.targets[chosen]], axis=1)


def _write_npz(run: Run, target: Path) -> int:
    _, labels = run.configurations()
    keys, edges = _edges(run)
    arrays: dict[str, Any] = {"keys": keys, f"{_labels(run)}s": labels, "edges": edges}
    with target.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return len(keys)


def _write_graphml(run: Run, target: Path) -> int:
    """Streamed: a graph of millions needs no tree of XML in memory."""
    _, labels = run.configurations()
    keys, edges = _edges(run)
    goals, names = run.puzzle.is_goal(keys), ints(keys)
    width = run.puzzle.layout.digits
    direction = "undirected" if run.puzzle.undirected else "directed"
    with target.open("w", encoding="utf-8") as file:
        xml = XMLGenerator(file, encoding="utf-8", short_empty_elements=True)
        xml.startDocument()
        with _element(xml, "graphml", xmlns="http://graphml.graphdrawing.org/xmlns"):
            for name, kind in (("configuration", "string"), (_labels(run), "long"), ("goal", "boolean")):
                with _element(xml, "key", **{"id": name, "for": "node", "attr.name": name, "attr.type": kind}):
                    pass
            with _element(xml, "graph", id=run.name, edgedefault=direction):
                for key, label, goal in zip(ints(keys), labels.tolist(), goals.tolist(), strict=True):
                    data = {"configuration": run.puzzle.render(key), _labels(run): label, "goal": str(goal).lower()}
                    with _element(xml, "node", id=f"{key:#0{width}x}"):
                        for name, value in data.items():
                            with _element(xml, "data", key=name):
                                xml.characters(_CONTROL.sub(_escaped, str(value)))
                for source, other in edges.tolist():
                    with _element(
                        xml, "edge", source=f"{names[source]:#0{width}x}", target=f"{names[other]:#0{width}x}"
                    ):
                        pass
    return len(keys)


def _tree_formats(images: bool) -> "dict[str, Callable[[Run, Path], int]]":
    return {".csv": partial(_write_tree_csv, images=images), ".npz": partial(_write_tree_npz, images=images)}


def _solutions(run: Run, images: bool) -> Iterator[tuple[int, int]]:
    """The number of the orbit and the key of each solution."""
    found = (key for batch in run.solutions() for key in ints(batch))
    for orbit, key in enumerate(found):
        yield from ((orbit, image) for image in (run.tree.images(key) if images else [key]))


def _write_tree_csv(run: Run, target: Path, images: bool) -> int:
    width, count = run.puzzle.layout.digits, 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["orbit", "key", "solution"])
        for orbit, key in _solutions(run, images):
            writer.writerow([orbit, f"{key:#0{width}x}", run.puzzle.render(key)])
            count += 1
    return count


def _write_tree_npz(run: Run, target: Path, images: bool) -> int:
    found = list(_solutions(run, images))
    keys = run.puzzle.keys([key for _, key in found])
    orbits = np.array([orbit for orbit, _ in found], dtype=np.uint32)
    with target.open("wb") as file:
        np.savez_compressed(file, orbits=orbits, keys=keys, numbers=run.tree.placings(keys))
    return len(found)


def _escaped(control: re.Match[str]) -> str:
    """As a Python literal has it: XML cannot say it, not even by a number."""
    return control[0].encode("unicode_escape").decode("ascii")


@contextmanager
def _element(xml: XMLGenerator, name: str, **attributes: str) -> Iterator[None]:
    xml.startElement(name, AttributesImpl(attributes))
    yield
    xml.endElement(name)


FORMATS: dict[str, Callable[[Run, Path], int]] = {
    ".csv": _write_csv,
    ".npz": _write_npz,
    ".graphml": _write_graphml,
}
