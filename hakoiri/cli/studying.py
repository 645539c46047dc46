"""The groups ``study`` and ``generate``, whose commands are made from the kinds of run (`hakoiri.cli.starting`)."""

import re
import shlex
from typing import Any

import typer
from typer.core import TyperGroup

import hakoiri.cli.starting  # noqa: F401 - declares the commands
from hakoiri.errors import PuzzleError
from hakoiri.puzzles.registry import PUZZLES

#: Options of the former command ``study PUZZLE``; ``--n`` belonged to studies of sizes.
_OLD_SIZES = re.compile(r"--(columns|ranks|n)(?==|$)")


class Studies(TyperGroup):
    """The kinds of study; a puzzle in their place is refused with the intended command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; raise `PuzzleError` for ``study PUZZLE``."""
        name = args[0]
        if not ctx.resilient_parsing and name not in self.commands and (name in PUZZLES or ".py:" in name):
            kind = "sizes" if any(re.match("--n(=|$)", word) for word in args) else "deals"
            words = (_OLD_SIZES.sub("--sizes", each) for each in args[1:])
            command = shlex.join(["hakoiri", "study", kind, name, *words])
            raise PuzzleError(f"'study {name}' is not a command; use: {command}")
        return super().resolve_command(ctx, args)


GROUPS = {
    "study": typer.Typer(
        cls=Studies,
        help="Study many deals, all boards of some pieces, or many sizes.",
        epilog="Example: hakoiri study deals gap --sizes 3..6 --deals 100",
        no_args_is_help=True,
    ),
    "generate": typer.Typer(
        help="Make boards of a given difficulty, or random ones.",
        epilog='Example: hakoiri generate sliding --size 4x5 --pieces "2x2:1 2x1:1 1x2:4 1x1:4" --goal 2x2@4,2',
        no_args_is_help=True,
    ),
}
