"""The commands put together, and the one place where an error becomes a line and an exit code."""

import gc
import sys
from typing import Annotated, NoReturn

import typer

from hakoiri.cli.answers import asking, components
from hakoiri.cli.deals import dealing, optimising, solving
from hakoiri.cli.puzzles import choosing
from hakoiri.cli.runs import living, running, serving
from puzzles.errors import HakoiriError

#: Exit codes: 0 done, 1 an error that the line on stderr names, 2 wrong usage, 130 and 143 stopped by a signal.
ERROR = 1

app = typer.Typer(
    name="hakoiri",
    help="Enumerate every configuration of a puzzle, survive any interruption, and answer exactly.",
    epilog="Begin with: hakoiri run klotski, then hakoiri path last",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (choosing, running, living, components, asking, solving, dealing, optimising, serving):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"hakoiri {version('hakoiri')}")
        raise typer.Exit


@app.callback()
def everywhere(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Options that belong to no command."""


def main() -> None:
    """The entry point."""
    try:
        app()
    except HakoiriError as error:
        _fail(str(error))
    except MemoryError as error:
        detail = str(error) or type(error).__name__
        _fail(f"not enough memory: {detail}; close other programs, or let a run take less with --memory")
    finally:
        # Otherwise the interpreter searches all modules for garbage when it leaves, for 25 ms.
        gc.freeze()


def _fail(line: str) -> NoReturn:
    print(f"hakoiri: {line}", file=sys.stderr)
    sys.exit(ERROR)
