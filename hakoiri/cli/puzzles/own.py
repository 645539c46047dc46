"""The commands ``new`` and ``try``: a user's own puzzle, begun and checked."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.options import JsonOption, PuzzleArgument, PuzzleOptions, own_spec
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.reading import read_board
from hakoiri.render.streams import unread
from hakoiri.render.tables import print_json, stdout

if TYPE_CHECKING:
    from hakoiri.puzzles.conformance.pool import Case
    from hakoiri.puzzles.conformance.suite import Verdict
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.registry import PuzzleSpec


@command_line("new my_puzzle.py --kernel")
def new(
    file: Annotated[Path, argument("FILE.py", "File to write.")],
    directed: Annotated[bool, flag("--directed", "For a puzzle with moves that cannot be taken back.")] = False,
    kernel: Annotated[bool, flag("--kernel", "Add a kernel compiled by numba, for speed.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a small working puzzle for you to change."""
    from hakoiri.cli.puzzles.starter import starter
    from hakoiri.storage.engine.files import write_file

    if file.suffix != ".py" or not any(letter.isalnum() and letter.isascii() for letter in file.stem):
        raise PuzzleError(f"{file} does not end in .py; expected a name such as my_puzzle.py")
    if file.exists():
        raise PuzzleError(f"{file} already exists; choose another file")
    kind, text = starter(file.name, directed, kernel)
    write_file(file, text)
    if json:
        print_json({"file": str(file), "puzzle": f"{file}:{kind}"})
        return
    stdout().print(Text(f"{file} is written: a working puzzle for you to change"), soft_wrap=True)
    stdout().print(Text(f"try it after each change: hakoiri try {file}:{kind}", "dim"), soft_wrap=True)


@command_line("try my_puzzle.py:MyPuzzle -o coins=10")
def try_puzzle(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    start: Annotated[str | None, option("--from", "CONF|FILE", "Start the check here.", usual="the puzzle's")] = None,
    json: JsonOption = False,
) -> None:
    """Check a puzzle of yours on some of its configurations.

    Lists the promises of a puzzle as kept or broken, and those that it does not make as not claimed. Exits with code 1
    if one is broken.
    """
    from hakoiri.puzzles.conformance.suite import verdicts
    from hakoiri.puzzles.registry import puzzle_class

    spec = own_spec(puzzle, options)
    text = None if start is None else read_board(start)
    found = verdicts(_case(spec, text))
    if not any(each.wrong for each in found) and puzzle_class(spec.name, spec.digest).has_mirrors:
        merged = verdicts(_case(replace(spec, merge_mirrors=True), text))
        found += [each._replace(check=f"{each.check}, mirrors merged") for each in merged if each.wrong]
    broken = [each for each in found if each.wrong]
    with unread(bool(broken)):
        if json:
            print_json({"puzzle": spec.name, "ok": not broken, "checks": [each._asdict() for each in found]})
        else:
            _print_verdicts(found)
            if not broken:
                stdout().print(Text(f"all promises are kept; now run it: hakoiri run {puzzle}", "dim"), soft_wrap=True)
    if broken:
        raise typer.Exit(1)


def _case(spec: "PuzzleSpec", start: str | None) -> "Case":
    from hakoiri.puzzles.conformance.pool import Case

    def build(options: Mapping[str, str], text: str | None) -> "Puzzle":
        return replace(spec, options=options, start=text).build()

    return Case(build, spec.options, start)


def _print_verdicts(found: "list[Verdict]") -> None:
    width = max(len(each.check) for each in found)
    for each in found:
        state, style = ("kept", "") if each.claimed else ("not claimed", "dim")
        if each.wrong != "":
            state, style = ("BROKEN", "red") if each.wrong else ("not tried", "dim")
        said = f"{each.check:{width}}  {each.promise}"
        stdout().print(Text.assemble((f"{state:11}", style), f"  {said}"), soft_wrap=True)
        if each.wrong:
            stdout().print(Text(f"{' ' * (width + 15)}{each.wrong}", "red"), soft_wrap=True)
