"""The commands ``solve`` and ``deal`` for single deals of a solitaire, and ``replay`` for given solutions and plays."""

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.options import command_line
from hakoiri.errors import Hint, PuzzleError, counted
from hakoiri.loading import loaded
from hakoiri.memory import available_memory
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import puzzle_class
from hakoiri.reading import read_board, read_text
from hakoiri.render.streams import print_line
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.guests.deals.dealt import Dealt, Move
    from hakoiri.guests.deals.searching import SolveResult
    from hakoiri.guests.deals.solitaire import Solitaire
    from hakoiri.keys.layout import Key
    from hakoiri.puzzles.pictures import Picture

_BYTES = 250
#: The field with the estimated number of positions that a search without memory generates.
_TREE = "tree"
#: The most deals that a message names.
_MOST_NAMED = 10
_SHORTEN = flag("--shorten", "Remove redundant moves from solutions of superpuzz, and list them.")
_REACH = parameter(
    "--reach", "N", "With --shorten: look for shortcuts among the first N positions that each position leads to.",
    default=0, min=0,
)  # fmt: skip
_GAME = shared.puzzle_argument("gap, superpuzz, or FILE.py:NAME for your own with deals.")


def _require_shortening(shorten: bool, reach: int) -> None:
    """Raise `PuzzleError` for a `reach` that nothing uses."""
    if reach and not shorten:
        raise PuzzleError(f"--reach {reach} needs --shorten", Hint("leave out", "reach"))


@command_line("solve gap deals.txt")
def solve(
    puzzle: str = _GAME,
    deals: str = parameter("", "DEAL|FILE", "Rows joined by '/', or a file of deals; - reads them from stdin."),
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    strategy: str | None = parameter(
        "--strategy", "bfs|dfs|longest|tree",
        "Search breadth first or depth first, and report figures. For gap also: longest finds a longest solution, tree "
        "remembers no positions.", "bfs",
    ),
    shorten: bool = _SHORTEN,
    reach: int = _REACH,
    show: bool = flag("--show", "Print the moves of each solution."),
    cap: int | None = parameter("--cap", "N", "Give up a deal after N positions.", "what memory holds", min=1),
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Print the fewest moves per deal, or -1 if unsolvable.

    Deals are solved in memory. If --cap ends a search, its line is ? and the exit code is 1. With --strategy,
    --shorten, --show or --json, figures of each search are printed instead. Solutions of superpuzz found depth first
    are not the shortest.
    """
    from hakoiri.compiling import telling
    from hakoiri.guests.deals.searching import SolveRequest
    from hakoiri.guests.deals.table import deals_of, dealt
    from hakoiri.guests.deals.tasks import solved

    _require_shortening(shorten, reach)
    game = dealt(shared.own_spec(puzzle, options))
    if shorten and not game.shortens:
        raise PuzzleError(f"--shorten is for superpuzz; no position of {game.name} repeats")
    if strategy not in (None, *game.orders):
        raise PuzzleError(f"--strategy {strategy} is not one of {'|'.join(game.orders)}")
    # Without a cap, as many positions as three quarters of the free memory hold.
    most, plain = cap or available_memory() * 3 // 4 // _BYTES, not (strategy or shorten or show or json)
    parsed = list(deals_of(game, read_text(deals)))
    note = f"compiling the kernels of {game.name}, once"
    rows: list[dict[str, Any]] = []
    with telling(lambda count: None if count else stderr().print(note)):
        for deal in parsed:
            start = game.parse(deal)
            order = strategy or "bfs"
            asked = SolveRequest.made(game, start, order, "fixed" if game.convention == "fixed" else "goal", most)
            found = solved(game, asked)
            row = _row(game, deal, found)
            moves = goal.moves if (goal := found.reached(game.convention)) else None
            if plain:
                print_line(_answer(row))
            else:
                row["solution"] = None if moves is None else _words(game, deal, start, moves)
            rows.append(row | (shortened_row(game, deal, start, moves, reach) if shorten else {}))
    if json:
        head = {"puzzle": game.name, "parameters": game.option_texts(), "strategy": strategy or "bfs"}
        print_json(head | {"deals": rows})
    elif not plain:
        _print_rows(rows, show, shorten)
        stdout().print(Text(f"goal: {game.goal_text()}"), soft_wrap=True)
    if open_deals := [number for number, row in enumerate(rows, 1) if row["solvable"] is None]:
        numbers = ", ".join(map(str, open_deals[:_MOST_NAMED])) + (", ..." if len(open_deals) > _MOST_NAMED else "")
        stderr().print(
            f"hakoiri: {len(open_deals):,} of {counted(len(rows), 'deals')} undecided after {most:,} positions: "
            f"number {numbers}; raise --cap, or use 'hakoiri run', which works on disk"
        )
        raise typer.Exit(1)


@command_line("deal superpuzz -o columns=5 --seed 7 --count 3")
def deal(
    puzzle: str = _GAME,
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    seed: int = shared.seed_option("the random deals"),
    first: int = parameter("--first", "N", "Number of the first deal.", min=0, max=MOST_SEED, default=0),
    count: int = parameter("--count", "N", "Number of deals.", min=1, max=MOST_SEED, default=1),
    json: bool = shared.JSON,
) -> None:
    """Print random deals, the same on every machine.

    The format is that of the contest: the number of deals, then four lines per deal.
    """
    from hakoiri.guests.deals.table import dealt

    game = dealt(shared.own_spec(puzzle, options))
    texts = (game.random_deal(seed, number) for number in range(first, first + count))
    if json:
        head = {"puzzle": game.name, "parameters": game.option_texts(), "seed": seed, "first": first}
        print_json(head | {"deals": list(texts)})
        return
    print_line(str(count))
    for text in texts:
        print_line("\n" + (text.replace("/", "\n") if game.rows_of_deal > 1 else text))


def _row(game: "Dealt", text: str, found: "SolveResult") -> dict[str, Any]:
    goal = found.reached(game.convention)
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


def shortened_row(game: "Dealt", text: str, start: "Key", moves: "list[Move] | None", reach: int) -> dict[str, Any]:
    """Return the shortened solution of the deal `text`, and the moves left out."""
    from hakoiri.guests.deals.shortening import shorten

    if moves is None:
        return {"shortened": None, "left": {}, "shorter_solution": None, "redundant": []}
    shorter = shorten(game, start, moves, reach)
    # The moves left out, round by round, in the words of the solution that the round began with.
    rows = []
    for number, each in enumerate(shorter.rounds, 1):
        words = _words(game, text, start, each.moves)
        for one in each.redundant:
            replaced = [*each.moves[: one.begin], *one.instead]
            rows.append({
                "round": number, "first_move": one.begin + 1, "last_move": one.end, "why": one.why,
                "component": None if one.component is None else list(one.component),
                "moves": words[one.begin : one.end], "instead": _words(game, text, start, replaced)[one.begin :],
            })  # fmt: skip
    return {
        "shortened": len(shorter.moves),
        "left": shorter.left,
        "shorter_solution": _words(game, text, start, shorter.moves),
        "redundant": rows,
    }


def _words(game: "Dealt", text: str, start: "Key", moves: "list[Move]") -> list[str]:
    """Return the moves in the words of the game's paper; holes of a deal are named by the cards that were there."""
    return type(game)(game.parameters, text).describe_moves(game.follow(start, moves))


def _answer(row: dict[str, Any]) -> str:
    """Return the answer in the contest's format; ``?`` for an undecided deal, which the format lacks."""
    if row["moves"] is None:
        return "?" if row["solvable"] is None else "-1"
    return str(row["moves"])


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


@command_line("replay nakuron board.txt 0123012 --steps")
def replay(
    puzzle: str = shared.puzzle_argument("Name of the puzzle: gap, nakuron or superpuzz."),
    start: str = parameter("", "DEAL|FILE", "Deal, or board of nakuron."),
    moves: str = parameter(
        "", "MOVES|FILE",
        "Moves: '(D6, H4) (S3, D6)' of superpuzz, cards of gap, sides of nakuron (0 up, 1 right, 2 down, 3 left; "
        "-1 ends them).",
    ),
    options: list[str] | None = shared.PUZZLE_OPTIONS,
    shorten: bool = _SHORTEN,
    reach: int = _REACH,
    steps: bool = flag("--steps", "Show each move."),
    film: Path | None = parameter("--film", "FILE", "Write a film: .gif, .svg, or .html to step through."),
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Check and score a given solution or play.

    Uses the reference rules, and names the first move that breaks them.
    """
    _require_shortening(shorten, reach)
    if film is not None:
        from hakoiri.render.films import FILMS, check_ending

        check_ending(film, FILMS)
    from hakoiri.guests.deals.solitaire import Solitaire

    kind = puzzle_class(puzzle)
    if getattr(kind, "large_boards", False) and not (options or shorten):
        replay_play: Callable[..., None] = loaded("hakoiri.guests.nakuron.commands:replay_play")
        replay_play(read_board(start), read_text(moves), steps, film, json)
        return
    game = shared.spec_of(puzzle, options, start).build()
    if not isinstance(game, Solitaire):
        raise PuzzleError(
            f"{puzzle} has no solutions to replay with these options; puzzles that have: gap and superpuzz"
        )
    if shorten and not game.shortens:
        raise PuzzleError(f"--shorten is for superpuzz; no position of {game.name} repeats")
    _replay_solution(game, read_text(moves), shorten, reach, steps, film, json)


def _replay_solution(
    game: "Solitaire", text: str, shorten: bool, reach: int, steps: bool, film: Path | None, json: bool
) -> None:
    """Show a solution; with `shorten`, also the shortened one."""
    moves = game.read_moves(text)
    path = game.follow(game.start, moves)
    words = game.describe_moves(path)
    result: dict[str, Any] = {"moves": len(moves), "solved": bool(game.is_goal(game.keys(path[-1:]))[0])}
    row: dict[str, Any] = {"solution": words}
    if shorten:
        row |= shortened_row(game, game.start_text(), game.start, moves, reach)
        words = row["shorter_solution"]
        path = game.follow(game.start, game.read_moves(" ".join(words)))
    if film is not None:
        _write_film(game.name, lambda: game.pictures(path), words, film)
    texts = [game.render(key) for key in path]
    if json:
        listed = [{"move": n, "words": each, "configuration": texts[n]} for n, each in enumerate(words, 1)]
        print_json(result | row | ({"steps": listed} if steps else {}))
        return
    if steps:
        from hakoiri.render.images import print_side_by_side

        titles = ["0 start", *(f"{number} {each}" for number, each in enumerate(words, 1))]
        print_side_by_side(stdout(), texts, titles, game.pictures(path))
    stdout().print(facts(result | {"solved": "yes" if result["solved"] else "no"}))
    if shorten:
        print_shortened(row)


def _write_film(title: str, pictures: "Callable[[], Iterable[Picture]]", moves: list[str], target: Path) -> None:
    from hakoiri.render.films import film_of, write_film

    write_film(film_of(title, pictures, moves), target)
    stderr().print(Text(f"written to {target}"))
