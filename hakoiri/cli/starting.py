"""Commands that start a run of a kind: made from the kinds (`coordinator.session.kind`)."""

import shlex
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.driving import Finish, Work, refuse_with_queue, start_run
from hakoiri.cli.options import command_line, puzzle_argument
from hakoiri.coordinator.runs.kinds import KINDS, kind_class, kind_of
from hakoiri.coordinator.session.kind import RunKind
from hakoiri.errors import PuzzleError
from hakoiri.guest_table import ANSWERS
from hakoiri.loading import loaded
from hakoiri.parameters import parameter
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.reading import read_text
from hakoiri.render.progress import shown_progress
from hakoiri.render.tables import stderr
from hakoiri.storage.engine.files import naming, require_place, write_file
from hakoiri.storage.names import certificate_file

if TYPE_CHECKING:
    from hakoiri.coordinator.session.session import Control

#: What commands take besides the fields of a kind (`RunKind.takes`): the name of the argument, its type and its option.
_TAKEN: dict[str, tuple[str, Any, Any]] = {
    "file": ("file", str, parameter("", "FILE", "A start per line, perhaps after its name; - for stdin.")),
    "--puzzle": (
        "puzzle", str,
        parameter("--puzzle", "PUZZLE", "Puzzle of the starts; FILE.py:NAME for your own.", default="sliding",
                  autocompletion=puzzles_beginning),
    ),
    "options": ("options", list[str] | None, shared.PUZZLE_OPTIONS),
    "start": ("start", str | None, shared.FROM),
    "board": ("start", str | None, parameter("--from", "FILE", "File of the board.", "the puzzle's")),
    "goal": ("goal", str | None, shared.GOAL),
}  # fmt: skip
#: The options that name a file (`RunKind.files`), and their texts.
_FILES = {
    "csv": ("--csv", "FILE", ""),
    "plot": ("--plot", "FILE", "Draw the distributions: .png, .svg or .pdf."),
    "b_files": ("--b-files", "DIR", "Write tables as OEIS b-files."),
    "certificate": ("--certificate", "FILE", "File for the certificate."),
}


def command_of(name: str, kind: type[RunKind]) -> Callable[..., None]:
    """Return the command that starts a run of a kind, for `command_line`."""
    taken = [("puzzle", str, puzzle_argument(kind.puzzle))] if kind.puzzle else []
    taken += [_TAKEN[each] for each in kind.takes]
    asked = [("asked", kind, Parameter.empty)]
    files = []
    for each in kind.files:
        flags, metavar, text = _FILES[each]
        files.append((each, Path | None, parameter(flags, metavar, text or kind.csv[0])))
    last = [("queue", bool, shared.QUEUE), ("work", Work, Parameter.empty)]
    parameters = [*asked, *taken, *files, *last] if kind.fields_first else [*taken, *asked, *files, *last]

    def command(asked: RunKind, queue: bool, work: Work, **given: Any) -> None:
        targets = {each: given.pop(each) for each in kind.files}
        if "file" in given:
            asked = kind(**vars(asked) | {"starts": read_text(given.pop("file"))})
        spec = shared.spec_of(**{"puzzle": "sliding", "options": None, "start": None} | given)
        refuse_with_queue(queue, {_FILES[each][0]: path for each, path in targets.items()})
        written = [_WRITERS[each](path, kind, spec, work) for each, path in targets.items()]

        def finish(job: Any, control: "Control") -> dict[str, Any]:
            return {field: value for write in written for field, value in write(job, control).items()}

        start_run(kind_of(name).request(spec, asked), name, work, queue=queue, finish=finish)

    command.__doc__ = kind.__doc__
    command.__annotations__ = {each: hint for each, hint, _ in parameters}
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(each, Parameter.KEYWORD_ONLY, default=default) for each, _, default in parameters]
    )
    return command


def _csv(path: Path | None, kind: type[RunKind], spec: PuzzleSpec, work: Work) -> Finish:
    """Return the end of a run: its rows are written as a table."""
    noun = kind.csv[1]
    if path is not None and noun:
        from hakoiri.export.tables import check_ending

        check_ending(path)
    elif path is not None:
        require_place(path)

    def finish(job: Any, _: "Control") -> dict[str, Any]:
        from hakoiri.export.tables import write_rows

        if path is not None:
            count = write_rows(job.rows() or iter(()), path)
            stderr().print(Text(f"{count:,} {noun} written to {path}" if noun else f"written to {path}"))
        return {}

    return finish


def _plot(path: Path | None, kind: type[RunKind], spec: PuzzleSpec, work: Work) -> Finish:
    """Return the end of a study of deals: its distributions are drawn."""
    if path is not None:
        from hakoiri.render.films import check_ending
        from hakoiri.render.plots import PLOTS

        # Checked before the work, so that hours of it do not end in a file that cannot be written.
        check_ending(path, PLOTS)

    def finish(job: Any, _: "Control") -> dict[str, Any]:
        if path is not None:
            loaded(ANSWERS["plot of deals"])(job, path)
            stderr().print(Text(f"written to {path}"))
        return {}

    return finish


def _b_files(path: Path | None, kind: type[RunKind], spec: PuzzleSpec, work: Work) -> Finish:
    """Return the end of a study of sizes: its tables are written as b-files."""

    def finish(job: Any, _: "Control") -> dict[str, Any]:
        if path is None:
            return {}
        files = loaded(ANSWERS["tables of sizes"])(job.asked())
        with naming(path):
            path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_file(path / name, text)
        stderr().print(Text(f"{len(files)} tables written to {path}"))
        return {"b_files": sorted(files)}

    return finish


def _certificate(path: Path | None, kind: type[RunKind], spec: PuzzleSpec, work: Work) -> Finish:
    """Return the end of a hunt: the record is certified."""
    if path is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is not a built-in puzzle, so it has no certificate; leave out --certificate")
    if path is not None:
        require_place(path)

    def finish(job: Any, control: "Control") -> dict[str, Any]:
        target = None if spec.digest else path or certificate_file(job.store.directory)
        from hakoiri.coordinator.runs.certificate import certify, write_certificate
        from hakoiri.coordinator.session.resources import Resources

        best = job.best
        if best is None:
            stderr().print("no record found yet; give more --time or --legs, or a greater --cap")
        if best is None or target is None:
            return {"certificate": None}
        with shown_progress(stderr()) as progress:
            made = certify(job.deal_spec(best), best.figures, Resources(memory=work.memory), control, progress)
            write_certificate(made, target)
        stderr().print(Text(f"verify it with: hakoiri verify {shlex.quote(str(target))}"), style="dim")
        return {"certificate": str(target)}

    return finish


_WRITERS = {"csv": _csv, "plot": _plot, "b_files": _b_files, "certificate": _certificate}

for _name in KINDS:
    if (_kind := kind_class(_name)).example:
        command_line(_kind.example, _kind.words)(command_of(_name, _kind))
