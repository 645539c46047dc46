"""Writes a run to files in the format given by the ending of their names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.certificate import SUFFIX, certificate_of, write_certificate
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import Hint
from hakoiri.export.distances import to_pdb
from hakoiri.export.graphs import to_dot, to_graphml, to_npz
from hakoiri.export.tables import (
    TABLES,
    Stream,
    check_ending,
    edges_to_table,
    require_ending,
    require_streamed,
    rows_to_table,
    write_rows,
)
from hakoiri.guest_table import ANSWERS, REFUSALS
from hakoiri.loading import loaded
from hakoiri.parameters import at_least
from hakoiri.render import player
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced

#: The ending of boards to print.
PDF = ".pdf"
#: Writers by ending: configurations only, configurations and moves, solutions of a tree.
_TABLES = {".csv": rows_to_table, ".parquet": rows_to_table, ".pdb": to_pdb}
_GRAPHS = {".npz": to_npz, ".graphml": to_graphml, ".dot": to_dot}
_TREES = (".csv", ".npz")


class Contents(NamedTuple):
    """The contents of a file in words, and the options of an export that apply to it."""

    what: str
    options: tuple[str, ...] = ()


#: The contents of files that every run may have, of those of a search or census, and of those of a tree, by ending.
_PAGES = {
    SUFFIX: Contents("a certificate"),
    player.ENDING: Contents("a page to play"),
    PDF: Contents("boards to print", ("per_page",)),
}
_CONFIGURATIONS = (
    dict.fromkeys(TABLES, Contents("a table of configurations", ("layers",)))
    | {".pdb": Contents("a table of distances", ("layers",))}
    | dict.fromkeys(_GRAPHS, Contents("a graph of configurations and moves", ("layers", "moves")))
)
_SOLUTIONS = dict.fromkeys(_TREES, Contents("a file of solutions", ("images",)))
_ROWS = Contents("a table of results")
EDGES = Contents("a table of moves", ("layers", "moves"))
PLAY = Contents("a table of best moves")
GROWTH = Contents("a table of the sizes of layers")


def contents_of(run: OpenRun, target: Path) -> Contents:
    """Return the contents of the file that `export_run` writes; `UnanswerableError` for an ending that it lacks."""
    ending = target.suffix
    if ending in _PAGES:
        return _PAGES[ending]
    if run.puzzle.is_tree:
        return _SOLUTIONS[require_ending(target, _TREES)]
    if run.kind.rows is not Job.rows:
        check_ending(target)
        return _ROWS
    return _CONFIGURATIONS[require_ending(target, [*_TABLES, *_GRAPHS, *_PAGES])]


def require_options(given: Mapping[str, object], files: Sequence[Contents]) -> None:
    """Raise `UnanswerableError` for an option that applies to none of some files, or `layers` that not all allow.

    Options that are ``None`` or false are not given.
    """
    for name, value in given.items():
        others = [file for file in files if name not in file.options]
        # `layers` may be 0.
        if value is not None and value is not False and others and (name == "layers" or len(others) == len(files)):
            raise UnanswerableError(f"{name} does not apply to {others[0].what}", Hint("leave out", name))


def export_run(
    run: OpenRun, target: Path, *, images: bool = False, moves: bool = False, layers: int | None = None,
    per_page: int | None = None, control: Control | None = None, observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write `run` to `target`, replacing it in one step; return the number of configurations, solutions or rows.

    ``.csv`` and ``.parquet`` are tables of configurations (`hakoiri.export.tables`); ``.npz``, ``.graphml`` and
    ``.dot`` contain the moves too (`hakoiri.export.graphs`), with their descriptions if `moves`. All are in the order
    of keys. With `layers` they contain only layers 0 to `layers`. For a study, ``.csv`` and ``.parquet`` have a row for
    each result. For a run by layers, ``.pdb`` is a table of distances by key (`hakoiri.export.distances`), and
    ``.json`` is its certificate (`coordinator.runs.certificate`), which can be verified without it. For a tree,
    ``.csv`` and ``.npz`` contain its stored solutions, the least one of each orbit, or with `images` all of them.
    ``.html`` is a page to play, and ``.pdf`` has boards to print, `per_page` on a page. Raises `StopRun` by
    `control`; `target` is then unchanged.
    """
    layers = None if layers is None else at_least(0, "layers", layers)
    given = {"images": images, "moves": moves, "layers": layers, "per_page": per_page}
    ending, contents = target.suffix, contents_of(run, target)
    require_options(given, [contents])
    if ending == player.ENDING:
        return player.save_player(run, target, control, observer)
    if ending == PDF:
        printed: int = loaded(ANSWERS["sheet of boards"])(run, target, per_page, control, observer)
        return printed
    if ending == SUFFIX:
        certificate = certificate_of(run.store)
        write_certificate(certificate, target)
        return certificate.figures.positions
    if run.puzzle.is_tree:
        with replaced(target) as part:
            count: int = loaded(ANSWERS["file of solutions"])(run, part, ending, images)
            return count
    if (rows := run.kind(run.store, run.puzzle).rows()) is not None:
        return write_rows(rows, target)
    stream = Stream(run, control, observer, layers)
    with replaced(target) as part:
        return _TABLES[ending](stream, part) if ending in _TABLES else _GRAPHS[ending](stream, part, moves)


def require_file(run: OpenRun, ending: str) -> None:
    """Raise `UnanswerableError` or `NotKeptError` unless `export_run` writes `run` to a file with this ending."""
    if ending == player.ENDING:
        player.require_playable(run)
    elif ending == PDF:
        loaded(ANSWERS["boards to print"])(run)
    elif run.puzzle.is_tree:
        require_ending(Path(f"run{ending}"), _TREES)
        loaded(REFUSALS["solutions"])(run)
    elif run.kind(run.store, run.puzzle).rows() is not None:
        check_ending(Path(f"run{ending}"))
    else:
        require_streamed(run)


def require_edges(run: OpenRun, target: Path) -> None:
    """Raise `UnanswerableError` for a run without moves, or an ending of another format than `export_edges` writes."""
    if run.puzzle.is_tree:
        text = f"run {run.name} is a tree, which has no moves to export"
        raise UnanswerableError(text, Hint("leave out", "edges"))
    require_ending(target, TABLES)


def export_edges(
    run: OpenRun, target: Path, *, moves: bool = False, layers: int | None = None, control: Control | None = None,
    observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write the moves of `run` as a table, ``.csv`` or ``.parquet``, else as `export_run`; return their number."""
    require_edges(run, target)
    stream = Stream(run, control, observer, layers)
    with replaced(target) as part:
        return edges_to_table(stream, part, moves)
