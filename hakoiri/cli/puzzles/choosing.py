"""The commands ``puzzles``, ``show``, ``new`` and ``try``."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.completing import puzzles_beginning
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import UnknownRunError
from hakoiri.errors import PuzzleError
from hakoiri.loading import loaded
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.classics import CLASSICS
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.reading import read_board
from hakoiri.render.streams import unread
from hakoiri.render.tables import facts, print_json, stderr, stdout, table
from hakoiri.storage.engine.files import write_file

if TYPE_CHECKING:
    from hakoiri.puzzles.conformance.pool import Case
    from hakoiri.puzzles.contract import Puzzle

_USUAL = "klotski"
_HEAD = '''"""{file}: say here what your puzzle is.

It works as it stands: a row of coins, of which a move turns over two neighbours. Change it step by step into your
puzzle, and after each step let

    hakoiri try {file}:{kind}

tell you what does not fit together. When nothing is left: hakoiri run {file}:{kind}
"""

{imports}


'''
_IMPORTS = "from hakoiri import U32, ConfigurationError, Number, Puzzle"
_KERNEL_IMPORTS = """import numpy as np

from hakoiri import U32, ConfigurationError, Expansion, Number, Puzzle, jit"""
_KERNEL = '''@jit
def turn_coins(keys, coins, successors, counts):
    """Fill both arrays and return how many successors there are. Compiled by numba: plain loops are fast here."""
    total = 0
    for i in range(len(keys)):
        for place in range(coins - 1):
{loop}
    return total


'''
_LOOP = """            successors[total] = keys[i] ^ (3 << place)
            counts[i] += 1
            total += 1"""
_DIRECTED_LOOP = """            if keys[i] >> (place + 1) & 1:
                successors[total] = keys[i] ^ (3 << place)
                counts[i] += 1
                total += 1"""
_CLASS = '''class {kind}(Puzzle):
    """{rule} All heads is the goal."""

    name = "{name}"
    summary = "one line for 'hakoiri puzzles'"
    # What may be chosen with -o coins=10: the default, the least and the most.
    options = {{"coins": Number(8, 2, 24)}}
    # A key is a configuration packed into a whole number: equal configurations have equal keys, others other keys.
    # U32 are keys of 32 bits; there are U64, U128 and U256 too.
    layout = U32
{undirected}
    # No configuration has more moves than this.
    most_successors = 23

    def prepare(self, start):
        """Called once, when the options are known."""
        self.coins = self.parameters["coins"]

    def usual_start(self):
        """The key that a search begins with: all tails. The last coin is the lowest bit, 1 for tails."""
        return (1 << self.coins) - 1

    def successors(self, key):
        """The rules: the keys that one move leads to. Plain Python, as obviously right as you can make it."""
        return [{successors}]
{expand}
    def is_goal(self, keys):
        """A numpy array of booleans: for each of some keys, whether it is a goal."""
        return keys == 0

    def describe_move(self, before, after):
        """A move in words, other ones for each move of a configuration."""
        left = self.coins + 1 - (before ^ after).bit_length()
        return f"turn {{left}} and {{left + 1}}"

    def render(self, key):
        """A key as text. A board of several rows has '/' between them."""
        return f"{{key:0{{self.coins}}b}}".replace("0", "H").replace("1", "T")

    def parse_text(self, text):
        """The key of a text: what `render` wrote must lead back to its key, and anything else be refused."""
        if len(text) != self.coins or set(text) - set("HT"):
            raise ConfigurationError(f"expected {{self.coins}} coins, H (heads) or T (tails), not {{text!r}}")
        return int(text.replace("H", "0").replace("T", "1"), 2)
'''
_EXPAND = '''
    def expand(self, keys):
        """The successors of a whole array of keys, by a kernel: this makes a search fast. `successors` must agree."""
        successors = self.layout.empty(len(keys) * self.most_successors)
        counts = np.zeros(len(keys), dtype=np.uint16)
        total = turn_coins(keys, self.coins, successors, counts)
        return Expansion(successors[:total], counts)
'''


def starter(file: str, directed: bool, kernel: bool) -> tuple[str, str]:
    """Return the name of the class, made from that of the file, and the text of the file."""
    words = re.findall(r"[a-z0-9]+", file.removesuffix(".py").lower())
    kind = "".join(word.capitalize() for word in words)
    kind = kind if kind[:1].isalpha() else f"Puzzle{kind}"
    parts = _HEAD + (_KERNEL.replace("{loop}", _DIRECTED_LOOP if directed else _LOOP) if kernel else "") + _CLASS
    told = {
        "rule": "A move turns over a coin that shows tails, and the one right of it."
        if directed
        else "A move turns over two neighbours.",
        "undirected": "    # Some moves cannot be taken back, so duplicates are looked for among all that is older.\n"
        "    undirected = False"
        if directed
        else "    # Every move can be taken back. If a single one cannot, this must be False.\n    undirected = True",
        "successors": "key ^ 0b11 << place for place in range(self.coins - 1)"
        + (" if key >> place + 1 & 1" if directed else ""),
    }
    named = {"file": file, "kind": kind, "name": "-".join(words)[:40], "expand": _EXPAND if kernel else ""}
    return kind, parts.format(imports=_KERNEL_IMPORTS if kernel else _IMPORTS, **named, **told)


@command_line("puzzles klotski")
def puzzles(
    name: str | None = parameter(
        "", "[PUZZLE]", "Puzzle to describe; FILE.py:NAME for your own.", autocompletion=puzzles_beginning, typed=None
    ),
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    classics: bool = flag("--classics", "List known starts with their fewest moves and sources."),
    json: bool = shared.JSON,
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
    if options:
        raise PuzzleError(f"-o {options[0]} needs a puzzle; type: hakoiri puzzles PUZZLE -o {options[0]}")
    rows, known = puzzle_rows(), classic_rows()
    if json:
        print_json({"puzzles": rows, "classics": known})
        return
    if classics:
        listed = table("name", "puzzle", "fewest moves", "what it is, its source")
        for row in known:
            told = Text.assemble(row["title"], "\n", (row["source"], "dim"))
            moves = ", ".join(f"{moves:,} {metric}" for metric, moves in row["moves"].items())
            listed.add_row(row["name"], row["puzzle"], moves.removesuffix(" moves"), told)
        stdout().print(listed)
        start = f"hakoiri run sliding --from {known[0]['name']} -o metric=finger"
        stdout().print(f"search one: {start}; draw it: hakoiri show {known[0]['name']} --puzzle sliding", style="dim")
        return
    listed = table("puzzle", "what it is, its options, what it can")
    for row in rows:
        listed.add_row(row["name"], _lines(row))
    stdout().print(listed)
    stdout().print("describe one: hakoiri puzzles klotski; your own: hakoiri run FILE.py:NAME", style="dim")


def _tell(name: str, options: list[str] | None, json: bool) -> None:
    from hakoiri.render.images import print_picture
    from hakoiri.rows.puzzles import full_puzzle_row

    spec = shared.own_spec(name, options)
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
        listed = table("option", "default", "allowed")
        for each in row["options"]:
            listed.add_row(f"-o {each['name']}=", each["default"] or "none", each["allowed"])
        console.print(listed)
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


def _of_run(name: str) -> PuzzleSpec | None:
    """Return the puzzle of a run by its name or ``last``, with its start; no board of the usual puzzle is a name."""
    if name in CLASSICS or not re.fullmatch(r"(?!0x)\w[\w-]*", name):
        return None
    from hakoiri.api import open_run

    with suppress(UnknownRunError), open_run(name) as run:
        return replace(run.spec, start=run.puzzle.start_text())
    return None


@command_line("show ABBC/ABBC/DEEF/DGHF/I..J")
def show(
    conf: str = shared.CONF,
    puzzle: str = parameter(
        "--puzzle", "PUZZLE", "Puzzle of the configuration; FILE.py:NAME for your own.", default=_USUAL,
        autocompletion=puzzles_beginning,
    ),
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    plot: Path | None = parameter("--plot", "FILE", "Write a picture: .svg or .png."),
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Draw a configuration, or the start of a run, and list its key and its moves.

    Also shows its canonical form: the lesser of itself and its mirror image. For a board of nakuron, up to 256 x 256,
    shows its balls and those that each tilt would drop.
    """
    from hakoiri.render.images import print_picture
    from hakoiri.rows.puzzles import configuration_row

    of_run = _of_run(conf) if puzzle == _USUAL and not options else None
    spec = of_run or shared.spec_of(puzzle, options, conf)
    text = spec.start or ""
    kind = spec.kind()
    if kind.draws_start and loaded(kind.draws_start)(text, plot, json):
        return
    # The letters of a board stay. A key has none, and a start of other puzzles may be more than a configuration.
    lettered = kind.start_is_board or not (text.lower().startswith("0x") or kind.start_word)
    rules = replace(spec, start=spec.start if lettered else None, quiet=True).build()
    key = rules.parse(text)
    row = configuration_row(rules, key)
    picture = rules.picture(key)
    if plot is not None:
        from hakoiri.render.films import write_picture

        write_picture(picture, f"{rules.name}: {row['configuration']}", plot)
        stderr().print(Text(f"written to {plot}"))
    if json:
        print_json(row)
        return
    if drawing := rules.drawing(key):
        stdout().print(Text(drawing))
    else:
        print_picture(stdout(), row["configuration"], picture)
    moves, faults = row.pop("moves"), row.pop("faults", [])
    stdout().print(facts(row | {"moves": ", ".join(moves) or "none"}))
    for fault in faults:
        stdout().print(Text(fault), soft_wrap=True)


@command_line("new my_puzzle.py --kernel")
def new(
    file: Path = parameter("", "FILE.py", "File to write."),
    directed: bool = flag("--directed", "For a puzzle with moves that cannot be taken back."),
    kernel: bool = flag("--kernel", "Add a kernel compiled by numba, for speed."),
    json: bool = shared.JSON,
) -> None:
    """Write a small working puzzle for you to change."""
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
    puzzle: str = shared.PUZZLE,
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    start: str | None = parameter("--from", "CONF|FILE", "Start the check here.", "the puzzle's"),
    json: bool = shared.JSON,
) -> None:
    """Check a puzzle of yours on some of its configurations.

    Lists the promises of a puzzle as kept or broken, and those that it does not make as not claimed. Exits with code 1
    if one is broken.
    """
    from hakoiri.puzzles.conformance.suite import verdicts

    spec = shared.own_spec(puzzle, options)
    text = None if start is None else read_board(start)
    found = verdicts(_case(spec, text))
    if not any(each.wrong or (each.check == "mirrors" and not each.claimed) for each in found):
        merged = verdicts(_case(replace(spec, merge_mirrors=True), text))
        found += [each._replace(check=f"{each.check}, mirrors merged") for each in merged if each.wrong]
    broken = [each for each in found if each.wrong]
    with unread(bool(broken)):
        if json:
            print_json({"puzzle": spec.name, "ok": not broken, "checks": [each._asdict() for each in found]})
        else:
            width = max(len(each.check) for each in found)
            for each in found:
                state, style = ("kept", "") if each.claimed else ("not claimed", "dim")
                if each.wrong != "":
                    state, style = ("BROKEN", "red") if each.wrong else ("not tried", "dim")
                said = f"{each.check:{width}}  {each.promise}"
                stdout().print(Text.assemble((f"{state:11}", style), f"  {said}"), soft_wrap=True)
                if each.wrong:
                    stdout().print(Text(f"{' ' * (width + 15)}{each.wrong}", "red"), soft_wrap=True)
            if not broken:
                stdout().print(Text(f"all promises are kept; now run it: hakoiri run {puzzle}", "dim"), soft_wrap=True)
    if broken:
        raise typer.Exit(1)


def _case(spec: "PuzzleSpec", start: str | None) -> "Case":
    from hakoiri.puzzles.conformance.pool import Case

    def build(options: Mapping[str, str], text: str | None) -> "Puzzle":
        return replace(spec, options=options, start=text).build()

    return Case(build, spec.options, start)
