"""The commands put together, and the one place where an error becomes a line and an exit code."""

import re
import sys
import warnings
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from hakoiri.cli.answers import asking, components, exporting, farthest, hardest, mapping, paths
from hakoiri.cli.completing import join_words, name_shell
from hakoiri.cli.deals import dealing, optimising, solving
from hakoiri.cli.driving import follow_supervisor
from hakoiri.cli.puzzles import choosing, own, playing
from hakoiri.cli.runs import living, running, serving, verifying, web, working
from hakoiri.render.streams import drop_stdout, prepare_streams, results_apart
from hakoiri.steps import worded
from puzzles.errors import HakoiriError, PuzzleWarning

#: Exit codes: 0 done, 1 an error that the line on stderr names, 2 wrong usage, 130 and 143 stopped by a signal.
ERROR = 1


class _ShortHelp:
    """Help without ``<bool>`` after each flag and ``<str>`` after each argument."""

    def get_params(self, ctx: Any) -> Any:
        """The parameters, with what help needs to know of them."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperArgument) or param.is_flag:
                param.display_type_rich = _no_type
        return params


def _no_type(ctx: Any) -> None:
    """No name of a type."""


class Command(_ShortHelp, TyperCommand):
    """A command; what a user's puzzle prints meanwhile does not mix with its results."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        with results_apart():
            return super().invoke(ctx)

    def make_parser(self, ctx: Any) -> Any:
        """What reads the words; a minus and a digit begin a configuration, as of burnt pancakes, and no option."""
        parser = super().make_parser(ctx)
        read_options = parser._process_opts

        def read(arg: str, state: Any) -> None:
            if re.match(r"-\d", arg):
                state.largs.append(arg)
            else:
                read_options(arg, state)

        parser._process_opts = read  # type: ignore[method-assign]
        return parser


class Commands(_ShortHelp, TyperGroup):
    """All commands."""


app = typer.Typer(
    name="hakoiri",
    cls=Commands,
    help="Enumerate every configuration of a puzzle, survive any interruption, and answer exactly.",
    epilog="Begin with: hakoiri run klotski, then hakoiri path last",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (
    choosing,
    own,
    playing,
    running,
    living,
    verifying,
    components,
    farthest,
    paths,
    asking,
    hardest,
    exporting,
    mapping,
    solving,
    dealing,
    optimising,
    serving,
    working,
    web,
):
    module.register(app)
for command in app.registered_commands:
    command.cls = Command


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
    """The command line, but for Ctrl-C (`hakoiri.__main__`)."""
    prepare_streams()
    join_words()
    name_shell()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PuzzleWarning)
            warnings.showwarning = _show_warning
            try:
                follow_supervisor()
                app(prog_name="hakoiri")
            finally:
                sys.stdout.flush()
    except HakoiriError as error:
        _fail(worded(error, error.steps))
    except MemoryError as error:
        detail = str(error) or type(error).__name__
        _fail(f"not enough memory: {detail}; close other programs, or let a run take less with --memory")
    except OSError as error:
        drop_stdout()
        named = f"{error.filename}: " if error.filename else "the output cannot be written: "
        _fail(f"{named}{error.strerror or error}")


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int,
    file: TextIO | None = None, line: str | None = None,
) -> None:  # fmt: skip
    """What `warnings` calls: one line, as for errors."""
    print(f"hakoiri: {message}", file=sys.stderr)


def _fail(line: str) -> NoReturn:
    print(f"hakoiri: {line}", file=sys.stderr)
    sys.exit(ERROR)
