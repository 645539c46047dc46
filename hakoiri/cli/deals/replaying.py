"""The command ``replay``: checks, scores and shows a given solution or play, and shortens a solution."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from hakoiri.cli.commands import argument, command_line, flag, option
from hakoiri.cli.deals.solving import ReachOption, ShortenOption, print_shortened, shortened_row
from hakoiri.cli.options import JsonOption, PuzzleOptions, puzzle_argument, spec_of
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.reading import read_board, read_text
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hakoiri.puzzles.pictures.shapes import Picture
    from hakoiri.puzzles.solitaires.solitaire import Solitaire


@command_line("replay nakuron board.txt 0123012 --steps")
def replay(
    puzzle: Annotated[str, puzzle_argument("Name of the puzzle: gap, nakuron or superpuzz.")],
    start: Annotated[str, argument("DEAL|FILE", "Deal, or board of nakuron.")],
    moves: Annotated[
        str,
        argument(
            "MOVES|FILE",
            "Moves: '(D6, H4) (S3, D6)' of superpuzz, cards of gap, sides of nakuron (0 up, 1 right, 2 down, 3 left; "
            "-1 ends them).",
        ),
    ],
    options: PuzzleOptions = None,
    shorten: ShortenOption = False,
    reach: ReachOption = 0,
    steps: Annotated[bool, flag("--steps", "Show each move.")] = False,
    film: Annotated[
        Path | None, option("--film", "FILE", "Write a film: .gif, .svg, or .html to step through.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check and score a given solution or play.

    Uses the reference rules, and names the first move that breaks them.
    """
    if film is not None:
        from hakoiri.render.pictures.files import FILMS, check_ending

        check_ending(film, FILMS)
    from hakoiri.puzzles.registry import puzzle_class
    from hakoiri.puzzles.scored import Scored
    from hakoiri.puzzles.solitaires.solitaire import Solitaire

    kind = puzzle_class(puzzle)
    if issubclass(kind, Scored) and kind.large_boards and not (options or shorten):
        _replay_play(read_board(start), read_text(moves), steps, film, json)
        return
    game = spec_of(puzzle, options, start).build()
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
        from hakoiri.render.pictures.terminal import print_side_by_side

        titles = ["0 start", *(f"{number} {each}" for number, each in enumerate(words, 1))]
        print_side_by_side(stdout(), texts, titles, game.pictures(path))
    stdout().print(facts(result | {"solved": "yes" if result["solved"] else "no"}))
    if shorten:
        print_shortened(row)


def _replay_play(start: str, sequence: str, steps: bool, film: Path | None, json: bool) -> None:
    from hakoiri.puzzles.nakuron.board import SIDES, Board, parse_board, parse_sequence
    from hakoiri.puzzles.nakuron.board import replay as replayed

    board = parse_board(start)
    sides = parse_sequence(sequence)
    score, left, rows = 0, board.balls, []
    for number, (side, tilted) in enumerate(zip(sides, replayed(board, sides), strict=True), 1):
        score, left = score + tilted.score, left - len(tilted.dropped)
        figures = {"dropped": len(tilted.dropped), "scored": tilted.score, "score": score, "left": left}
        rows.append({"move": number, "side": SIDES[side]} | figures)
    result = {"score": score, "moves": len(sides), "balls": board.balls, "left": left}
    if film is not None:
        from hakoiri.puzzles.nakuron.drawing import draw_boards

        boards = chain([board], (Board(tilted.rows, board.frame) for tilted in replayed(board, sides)))
        _write_film("nakuron", lambda: draw_boards(boards), [SIDES[side] for side in sides], film)
    if json:
        print_json(result | ({"steps": rows} if steps else {}))
        return
    if steps:
        columns = ("move", "side", "dropped", "scored", "score", "left")
        listed = table(*columns, numbers=columns)
        for row in rows:
            listed.add_row(*(value if isinstance(value, str) else f"{value:,}" for value in row.values()))
        stdout().print(listed)
    stdout().print(facts(result))


def _write_film(title: str, pictures: "Callable[[], Iterable[Picture]]", moves: list[str], target: Path) -> None:
    from hakoiri.render.pictures.files import film_of, write_film

    write_film(film_of(title, pictures, moves), target)
    stderr().print(Text(f"written to {target}"))
