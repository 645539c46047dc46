"""The commands ``puzzles`` and ``show``: the puzzles with their options, and drawings of single configurations."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.options import ConfArgument, JsonOption, PuzzleOptions, own_spec, spec_of
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from rich.table import Table


@command_line("puzzles klotski")
def puzzles(
    name: Annotated[
        str | None,
        argument("[PUZZLE]", "Puzzle to describe; FILE.py:NAME for your own.", autocompletion=puzzles_beginning),
    ] = None,
    options: PuzzleOptions = None,
    classics: Annotated[bool, flag("--classics", "List known starts with their fewest moves and sources.")] = False,
    json: JsonOption = False,
) -> None:
    """List the puzzles and their options, or describe one of them.

    With a name, describes its rules, its options, its usual start and the notation of its configurations.
    """
    from hakoiri.rows.puzzles import classic_rows, puzzle_rows

    if name is not None:
        if classics:
            raise PuzzleError(f"--classics and the puzzle {name} cannot be combined")
        _tell(name, options, json)
        return
    rows, known = puzzle_rows(), classic_rows()
    if json:
        print_json({"puzzles": rows, "classics": known})
        return
    if classics:
        _list_classics(known)
        return
    listed = table("puzzle", "what it is, its options, what it can")
    for row in rows:
        listed.add_row(row["name"], _lines(row))
    stdout().print(listed)
    stdout().print("describe one: hakoiri puzzles klotski; your own: hakoiri run FILE.py:NAME", style="dim")


def _list_classics(rows: list[dict[str, Any]]) -> None:
    listed = table("name", "puzzle", "fewest moves", "what it is, its source")
    for row in rows:
        told = Text.assemble(row["title"], "\n", (row["source"], "dim"))
        moves = ", ".join(f"{moves:,} {metric}" for metric, moves in row["moves"].items())
        listed.add_row(row["name"], row["puzzle"], moves.removesuffix(" moves"), told)
    stdout().print(listed)
    example = rows[0]["name"]
    stdout().print(f"search one: hakoiri run sliding --from {example} -o metric=finger; draw it: hakoiri show "
                   f"{example} --puzzle sliding", style="dim")  # fmt: skip


def _tell(name: str, options: list[str] | None, json: bool) -> None:
    from hakoiri.render.pictures.terminal import print_picture
    from hakoiri.rows.puzzles import full_puzzle_row

    spec = own_spec(name, options)
    row = full_puzzle_row(spec)
    if json:
        print_json(row)
        return
    console = stdout()
    console.print(Text.assemble((row["name"], "bold"), f"  {row['summary']}"))
    console.print()
    console.print(Text(row["description"]), soft_wrap=True)
    if row["options"]:
        console.print()
        console.print(_option_table(row["options"]))
    console.print()
    shown = {"can": ", ".join(row["notes"]), "goal": row["goal"], "keys": row["layout"]}
    shown |= {"usual start": row["start"], "its key": row["key"]}
    console.print(facts({what: value or None for what, value in shown.items()}))
    if row["start"] is not None:
        puzzle = spec.build()
        print_picture(console, row["start"], puzzle.picture(puzzle.start))


def _lines(row: dict[str, Any]) -> Text:
    text = Text(row["summary"])
    for each in row["options"]:
        text.append(f"\n-o {each['name']}={each['default']}", style="cyan")
        text.append(f"  {each['allowed']}", style="dim")
    if row["notes"]:
        text.append(f"\n{', '.join(row['notes'])}", style="dim")
    return text


def _option_table(options: list[dict[str, str]]) -> "Table":
    listed = table("option", "default", "allowed")
    for each in options:
        listed.add_row(f"-o {each['name']}=", each["default"] or "none", each["allowed"])
    return listed


@command_line("show ABBC/ABBC/DEEF/DGHF/I..J")
def show(
    conf: ConfArgument,
    puzzle: Annotated[
        str,
        option("--puzzle", "PUZZLE", "Puzzle of the configuration; FILE.py:NAME for your own.",
               autocompletion=puzzles_beginning),
    ] = "klotski",
    options: PuzzleOptions = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Write a picture: .svg or .png.")] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Draw a configuration and list its key and its moves.

    Also shows its canonical form: the lesser of itself and its mirror image. For a board of nakuron, up to 256 x 256,
    shows its balls and those that each tilt would drop.
    """
    from hakoiri.cli.deals.optimising import is_whole, show_board
    from hakoiri.puzzles.capabilities import Dealt, Placements
    from hakoiri.puzzles.registry import puzzle_class
    from hakoiri.puzzles.scored import Scored
    from hakoiri.render.pictures.terminal import print_picture
    from hakoiri.rows.puzzles import configuration_row

    spec = spec_of(puzzle, options, conf)
    text = spec.start or ""
    kind = puzzle_class(spec.name, spec.digest)
    if issubclass(kind, Scored) and kind.large_boards and is_whole(text):
        show_board(text, plot, json)
        return
    # The letters of a board stay. A key has none, and a start of other puzzles may be more than a configuration.
    lettered = kind.start_is_board or not (text.lower().startswith("0x") or issubclass(kind, Dealt | Scored))
    rules = (spec if lettered else replace(spec, start=None)).build()
    key = rules.parse(text)
    row = configuration_row(rules, key)
    picture = rules.picture(key)
    if plot is not None:
        from hakoiri.render.pictures.files import write_picture

        write_picture(picture, f"{rules.name}: {row['configuration']}", plot)
        stderr().print(Text(f"written to {plot}"))
    if json:
        print_json(row)
        return
    if isinstance(rules, Placements):
        stdout().print(Text(rules.drawing(key)))
    else:
        print_picture(stdout(), row["configuration"], picture)
    moves, faults = row.pop("moves"), row.pop("faults", [])
    stdout().print(facts(row | {"moves": ", ".join(moves) or "none"}))
    for fault in faults:
        stdout().print(Text(fault), soft_wrap=True)
