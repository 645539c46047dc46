"""The commands ``solve`` and ``deal``: solves single deals of a solitaire in memory, and prints random deals."""

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.options import JsonOption, PuzzleOptions, own_spec, puzzle_argument, seed_option
from hakoiri.puzzles.errors import counted
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.reading import read_text
from hakoiri.render.streams import print_line
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.puzzles.capabilities import Dealt, Move
    from hakoiri.puzzles.keys.layout import Key
    from hakoiri.worker.deals.solving import Goal, SolveResult
    from hakoiri.worker.solitaires.shortening import Shortened

_BYTES = 250
#: The field with the estimated number of positions that a search without memory generates.
_TREE = "tree"
#: The most deals that a message names.
_MOST_NAMED = 10
ShortenOption = Annotated[bool, flag("--shorten", "Remove redundant moves from solutions of superpuzz, and list them.")]
ReachOption = Annotated[
    int,
    option("--reach", "N",
           "With --shorten: look for shortcuts among the first N positions that each position leads to.", min=0),
]  # fmt: skip
GameArgument = Annotated[str, puzzle_argument("gap, superpuzz, or FILE.py:NAME for your own with deals.")]


@command_line("solve gap deals.txt")
def solve(
    puzzle: GameArgument,
    deals: Annotated[str, argument("DEAL|FILE", "Rows joined by '/', or a file of deals; - reads them from stdin.")],
    options: PuzzleOptions = None,
    strategy: Annotated[
        str | None,
        option("--strategy", "bfs|dfs|longest|tree",
               "Search breadth first or depth first, and report figures. For gap also: longest finds a longest "
               "solution, tree remembers no positions.",
               usual="bfs"),
    ] = None,
    shorten: ShortenOption = False,
    reach: ReachOption = 0,
    show: Annotated[bool, flag("--show", "Print the moves of each solution.")] = False,
    cap: Annotated[
        int | None, option("--cap", "N", "Give up a deal after N positions.", min=1, usual="what memory holds")
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Print the fewest moves per deal, or -1 if unsolvable.

    Deals are solved in memory. If --cap ends a search, its line is ? and the exit code is 1. With --strategy,
    --shorten, --show or --json, figures of each search are printed instead. Solutions of superpuzz found depth first
    are not the shortest.
    """
    from hakoiri.coordinator.deals.dealing import deals_of, dealt
    from hakoiri.puzzles.errors import PuzzleError
    from hakoiri.puzzles.jit import prepare
    from hakoiri.worker.deals.solving import SolveResult, request
    from hakoiri.worker.plain import unpacked
    from hakoiri.worker.tasks import do_task
    from hakoiri.worker.warm import compiling, load_solving_kernels

    game = dealt(own_spec(puzzle, options))
    if shorten and not game.shortens:
        raise PuzzleError(f"--shorten is for superpuzz; no position of {game.name} repeats")
    if strategy not in (None, *game.orders):
        raise PuzzleError(f"--strategy {strategy} is not one of {'|'.join(game.orders)}")
    most, plain = cap or _most_positions(), not (strategy or shorten or show or json)
    parsed = list(deals_of(game, read_text(deals)))
    prepare(lambda: load_solving_kernels(game), lambda count: None if count else stderr().print(compiling(game)))
    rows: list[dict[str, Any]] = []
    for deal in parsed:
        start = game.parse(deal)
        asked = request(game, start, strategy or "bfs", "fixed" if game.convention == "fixed" else "goal", most)
        found = unpacked(do_task("solve", game, asked, []), SolveResult)
        row = _row(game, deal, found)
        rows.append(row | ({} if plain else _solution_row(game, deal, start, found, shorten, reach)))
        if plain:
            print_line(_answer(row))
    if json:
        print_json(
            {"puzzle": game.name, "parameters": game.option_texts(), "strategy": strategy or "bfs", "deals": rows}
        )
    elif not plain:
        _print_rows(rows, show, shorten)
        stdout().print(Text(f"goal: {game.goal_text()}"), soft_wrap=True)
    if open_deals := [number for number, row in enumerate(rows, 1) if row["solvable"] is None]:
        _tell_unsettled(open_deals, len(rows), most)
        raise typer.Exit(1)


@command_line("deal superpuzz -o columns=5 --seed 7 --count 3")
def deal(
    puzzle: GameArgument,
    options: PuzzleOptions = None,
    seed: Annotated[int, seed_option("the random deals")] = 1,
    first: Annotated[int, option("--first", "N", "Number of the first deal.", min=0, max=MOST_SEED)] = 0,
    count: Annotated[int, option("--count", "N", "Number of deals.", min=1, max=MOST_SEED)] = 1,
    json: JsonOption = False,
) -> None:
    """Print random deals, the same on every machine.

    The format is that of the contest: the number of deals, then four lines per deal.
    """
    from hakoiri.coordinator.deals.dealing import dealt

    game = dealt(own_spec(puzzle, options))
    texts = (game.random_deal(seed, number) for number in range(first, first + count))
    if json:
        head = {"puzzle": game.name, "parameters": game.option_texts(), "seed": seed, "first": first}
        print_json(head | {"deals": list(texts)})
        return
    print_line(str(count))
    for text in texts:
        print_line("\n" + (text.replace("/", "\n") if game.rows_of_deal > 1 else text))


def _most_positions() -> int:
    """Return the number of positions that a search can hold in three quarters of the free memory."""
    from hakoiri.worker.machine import available_memory

    return available_memory() * 3 // 4 // _BYTES


def _wanted(game: "Dealt", found: "SolveResult") -> "Goal | None":
    return found.fixed if game.convention == "fixed" else found.goal


def _row(game: "Dealt", text: str, found: "SolveResult") -> dict[str, Any]:
    goal = _wanted(game, found)
    settled = found.exhausted or goal is not None
    return {
        "deal": text,
        "moves": None if goal is None else len(goal.moves),
        "solvable": (goal is not None) if settled else None,
        "positions": found.positions,
        "positions_until_goal": None if goal is None else goal.positions,
        "depth": found.depth,
        "exhausted": found.exhausted,
        "seconds": round(found.seconds, 6),
        **({} if found.tree is None else {_TREE: found.tree, "tree_error": found.tree_error}),
    }


def _solution_row(
    game: "Dealt", text: str, start: "Key", found: "SolveResult", shorten: bool, reach: int
) -> dict[str, Any]:  # fmt: skip
    """Return the moves of a solution, and with `shorten` those of the shortened one."""
    goal = _wanted(game, found)
    row: dict[str, Any] = {"solution": None if goal is None else _words(game, text, start, goal.moves)}
    return row | (shortened_row(game, text, start, goal.moves if goal else None, reach) if shorten else {})


def shortened_row(
    game: "Dealt", text: str, start: "Key", moves: "list[Move] | None", reach: int
) -> dict[str, Any]:  # fmt: skip
    """Return the shortened solution of the deal `text`, and the moves left out."""
    from hakoiri.worker.solitaires.shortening import shorten

    if moves is None:
        return {"shortened": None, "left": {}, "shorter_solution": None, "redundant": []}
    shorter = shorten(game, start, moves, reach)
    return {
        "shortened": len(shorter.moves),
        "left": shorter.left,
        "shorter_solution": _words(game, text, start, shorter.moves),
        "redundant": _redundant_rows(game, text, start, shorter),
    }


def _redundant_rows(game: "Dealt", text: str, start: "Key", shorter: "Shortened") -> list[dict[str, Any]]:
    """Return the moves left out, round by round, in the words of the solution that the round began with."""
    rows = []
    for number, each in enumerate(shorter.rounds, 1):
        words = _words(game, text, start, each.moves)
        for one in each.redundant:
            replaced = [*each.moves[: one.begin], *one.instead]
            rows.append(
                {
                    "round": number,
                    "first_move": one.begin + 1,
                    "last_move": one.end,
                    "why": one.why,
                    "component": None if one.component is None else list(one.component),
                    "moves": words[one.begin : one.end],
                    "instead": _words(game, text, start, replaced)[one.begin :],
                }
            )
    return rows


def _words(game: "Dealt", text: str, start: "Key", moves: "list[Move]") -> list[str]:
    """Return the moves in the words of the game's paper; holes of a deal are named by the cards that were there."""
    return type(game)(game.parameters, text).describe_moves(game.follow(start, moves))


def _answer(row: dict[str, Any]) -> str:
    """Return the answer in the contest's format; ``?`` for an undecided deal, which the format lacks."""
    if row["moves"] is None:
        return "?" if row["solvable"] is None else "-1"
    return str(row["moves"])


def _tell_unsettled(numbers: list[int], deals: int, most: int) -> None:
    named = ", ".join(map(str, numbers[:_MOST_NAMED])) + (", ..." if len(numbers) > _MOST_NAMED else "")
    stderr().print(
        f"hakoiri: {len(numbers):,} of {counted(deals, 'deals')} undecided after {most:,} positions: number {named}; "
        "raise --cap, or use 'hakoiri run', which works on disk"
    )


def _print_rows(rows: list[dict[str, Any]], show: bool, shorten: bool) -> None:
    columns = ["deal", "moves", *(["shortened"] if shorten else []), "positions", "until the goal", "depth", "seconds"]
    listed = table(*columns, numbers=tuple(columns))
    for number, row in enumerate(rows, 1):
        answer = "undecided" if row["solvable"] is None else _answer(row)
        until = row["positions_until_goal"]
        cells = [f"{number}", answer, *([f"{row['shortened'] or ''}"] if shorten else [])]
        cells += [f"{row['positions']:,}", "" if until is None else f"{until:,}", f"{row['depth']:,}"]
        listed.add_row(*cells, f"{row['seconds']:.4f}")
    stdout().print(listed)
    for number, row in enumerate(rows, 1):
        if row.get(_TREE):
            size = f"{row[_TREE]:.3g} positions ± {row['tree_error']:.2g}"
            stdout().print(f"deal {number}: the search tree has about {size} (Knuth)")
    for number, row in enumerate(rows, 1):
        if (show or shorten) and row["solution"]:
            stdout().print()
            stdout().print(Text(f"deal {number}: {row['deal']}", "bold"), soft_wrap=True)
            stdout().print(Text(" ".join(row["solution"])), soft_wrap=True)
            if shorten:
                print_shortened(row)


def print_shortened(row: dict[str, Any]) -> None:
    """Print the moves left out of a solution, round by round, and the shortened solution."""
    console = stdout()
    for round_number, redundant in groupby(row["redundant"], key=lambda each: each["round"]):
        console.print(Text(f"redundant, round {round_number}:"))
        for each in redundant:
            component = f" in element component {tuple(each['component'])}" if each["component"] else ""
            where = f"  moves {each['first_move']} to {each['last_move']}, {each['why']}{component}: "
            became = " ".join(each["instead"]) or "nothing"
            console.print(Text(f"{where}{' '.join(each['moves'])} becomes {became}"), soft_wrap=True)
    after = {f"after {step}": moves for step, moves in row["left"].items()}
    console.print(facts({"before": len(row["solution"])} | after | {"after": row["shortened"]}))
    console.print(Text(" ".join(row["shorter_solution"])), soft_wrap=True)
