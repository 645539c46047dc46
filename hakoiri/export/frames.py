"""A run as a data frame of pandas, a graph of networkx or a matrix of scipy, in memory.

Keys of up to 64 bits are a column of unsigned integers; wider ones are integers of Python.
"""

from typing import Any

import numpy as np

from hakoiri.export.stream import Stream
from hakoiri.export.tables import needing
from hakoiri.export.trees import solutions
from hakoiri.opened import OpenRun
from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.keys.layout import ints

_EXTRA = "notebook"


def to_dataframe(run: OpenRun, layers: int | None = None) -> Any:
    """Return ``key``, ``configuration``, ``depth`` (or ``component``) and ``goal``, in the order of the keys.

    With `layers`, only layers 0 to `layers`. For a study its rows, for a tree ``orbit``, ``key`` and ``solution``.
    """
    with needing(_EXTRA, "a data frame"):
        import pandas as pd

    if isinstance(run.puzzle, Placements):
        found = [(orbit, key, run.puzzle.render(key)) for orbit, key in solutions(run, False)]
        return pd.DataFrame(found, columns=["orbit", "key", "solution"])
    if (rows := run.kind(run.store, run.puzzle).rows()) is not None:
        return pd.DataFrame(list(rows))
    stream, parts = Stream(run, layers=layers), []
    for keys, labels in stream.rows():
        named = {"key": keys if keys.ndim == 1 else ints(keys), "configuration": stream.texts(keys)}
        parts.append(pd.DataFrame(named | {stream.label: labels, "goal": stream.puzzle.is_goal(keys)}))
    return pd.concat(parts, ignore_index=True)


def to_networkx(run: OpenRun, layers: int | None = None) -> Any:
    """Return a graph of the moves, directed if the puzzle is: its nodes are keys, with attributes as in a data frame.

    It takes about 1 kB a configuration.
    """
    with needing(_EXTRA, "a graph of networkx"):
        import networkx as nx

    stream = Stream(run, layers=layers)
    graph: Any = nx.Graph() if run.puzzle.undirected else nx.DiGraph()
    for keys, labels in stream.rows():
        described = zip(ints(keys), stream.texts(keys), labels.tolist(), run.puzzle.is_goal(keys).tolist(), strict=True)
        graph.add_nodes_from(
            (key, {"configuration": text, stream.label: label, "goal": goal}) for key, text, label, goal in described
        )
    for edges in stream.edges():
        graph.add_edges_from(zip(ints(edges.sources), ints(edges.targets), strict=True))
    return graph


def to_scipy(run: OpenRun) -> Any:
    """Return the moves as a sparse matrix: 1 in row i, column j if a move leads from the i-th key to the j-th.

    The order is that of the data frame, and of `configurations()`.
    """
    with needing(_EXTRA, "a matrix of scipy"):
        from scipy.sparse import csr_array

    keys, graph = run.graph()
    ones = np.ones(len(graph.targets), dtype=np.int32)
    return csr_array((ones, graph.targets, graph.offsets), shape=(len(keys), len(keys)))
