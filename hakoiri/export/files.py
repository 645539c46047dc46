"""Chooses the format of an exported file by the ending of its name."""

from collections.abc import Callable
from pathlib import Path

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import SUFFIX, certificate_of, write_certificate
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import Hint
from hakoiri.export import tables
from hakoiri.export.distances import to_pdb
from hakoiri.export.graphs import to_dot, to_graphml, to_npz
from hakoiri.puzzles.capabilities import Placements
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced

#: Writers by ending: configurations only, configurations and moves, moves only, solutions of a tree.
_TABLES: dict[str, Callable[[tables.Stream, Path], int]] = {
    ".csv": tables.rows_to_csv,
    ".parquet": tables.rows_to_parquet,
    ".pdb": to_pdb,
}
_GRAPHS = {".npz": to_npz, ".graphml": to_graphml, ".dot": to_dot}
_EDGES = {".csv": tables.edges_to_csv, ".parquet": tables.edges_to_parquet}
#: Written by `hakoiri.render.player`, which is above this.
_PAGES = (".html", ".pdf")
_TREES = {".csv": tables.solutions_to_csv, ".npz": tables.solutions_to_npz}


def export_run(
    run: OpenRun, target: Path, *, images: bool = False, moves: bool = False, layers: int | None = None,
    control: Control | None = None, observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write `run` to `target`, replacing it in one step; return the number of configurations or solutions.

    ``.csv`` and ``.parquet`` are tables of configurations (`hakoiri.export.tables`); ``.npz``, ``.graphml`` and
    ``.dot`` contain the moves too (`hakoiri.export.graphs`), with their descriptions if `moves`. All are in the order
    of keys. With `layers` they contain only layers 0 to `layers`. For a study, ``.csv`` and ``.parquet`` have a row for
    each result (`hakoiri.export.tables`). For a run by layers, ``.pdb`` is a table of distances by key
    (`hakoiri.export.distances`), and ``.json`` is its certificate
    (`coordinator.runs.certificate`), which can be verified without it. For a tree, ``.csv`` and ``.npz`` contain its
    stored solutions (`hakoiri.export.tables`), the least one of each orbit, or with `images` all of them. Raises
    `StopRun` by `control`; `target` is then unchanged.
    """
    if target.suffix == SUFFIX:
        certificate = certificate_of(run.store)
        write_certificate(certificate, target)
        return certificate.figures.positions
    if isinstance(run.puzzle, Placements):
        write = _TREES[_ending(target, [*_TREES])]
        with replaced(target) as part:
            return write(run, part, images)
    if (rows := run.kind(run.store, run.puzzle).rows()) is not None:
        tables.check_ending(target)
        return tables.write_rows(rows, target)
    if images:
        text = f"run {run.name} is not a tree, so its configurations have no images"
        raise UnanswerableError(text, Hint("leave out", "images"))
    ending = _ending(target, [*_TABLES, *_GRAPHS, SUFFIX, *_PAGES])
    stream = tables.Stream(run, control, observer, layers)
    with replaced(target) as part:
        return _TABLES[ending](stream, part) if ending in _TABLES else _GRAPHS[ending](stream, part, moves)


def export_edges(
    run: OpenRun, target: Path, *, moves: bool = False, layers: int | None = None, control: Control | None = None,
    observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write the moves of `run` as a table, ``.csv`` or ``.parquet``, else as `export_run`; return their number."""
    if isinstance(run.puzzle, Placements):
        text = f"run {run.name} is a tree, which has no moves to export"
        raise UnanswerableError(text, Hint("leave out", "edges"))
    ending = _ending(target, [*_EDGES])
    stream = tables.Stream(run, control, observer, layers)
    with replaced(target) as part:
        return _EDGES[ending](stream, part, moves)


def _ending(target: Path, known: list[str]) -> str:
    if target.suffix not in known:
        raise UnanswerableError(f"cannot export to {target.name!r}: the name must end in {', '.join(known)}")
    return target.suffix
