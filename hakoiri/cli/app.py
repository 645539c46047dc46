"""Assembles the commands; the only place where an error becomes a line and an exit code."""

import errno
import os
import re
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from importlib import import_module
from shutil import get_terminal_size
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_group

from hakoiri import guest_table
from hakoiri.cli.completing import join_words, name_shell, options_of_puzzle
from hakoiri.cli.driving import follow_supervisor
from hakoiri.cli.options import declared
from hakoiri.errors import HakoiriError, PuzzleWarning, outcome_of
from hakoiri.hints import worded
from hakoiri.memory import limited_tables
from hakoiri.puzzles.user.files import prefer
from hakoiri.questions.question import COMMANDS
from hakoiri.render.streams import drop_stdout, prepare_streams, print_error, results_apart
from hakoiri.worker.machine import SUPERVISOR, how_ended, start_child

#: The panels of the help, and their commands in order.
PANELS = {
    "Look at puzzles": "puzzles show play new try",
    "Run a search": "run enqueue status cancel resume collect",
    "Ask a run": "path distance layers hardest diameter "
    + " ".join(sorted({*COMMANDS} - {"export", "cite"}, key=COMMANDS.index)),
    "Study deals, boards and sizes": "study hunt deal solve generate optimise contest replay",
    "Serve": "coordinator worker serve health drain",
    "Keep": "runs verify export cite archive archives restore delete",
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}
#: The commands by module. Imported on demand: importing all would take a fifth of the time of a short command.
_MODULES = {
    "hakoiri.cli.puzzles.choosing": "puzzles show new try",
    "hakoiri.cli.puzzles.playing": "play",
    "hakoiri.cli.runs.running": "run enqueue resume collect drain verify",
    "hakoiri.cli.runs.listing": "status cancel runs delete",
    "hakoiri.cli.runs.archiving": "archive archives restore",
    "hakoiri.cli.runs.working": "worker",
    "hakoiri.cli.runs.serving": "coordinator serve health",
    "hakoiri.cli.studying": "study generate hunt optimise",
    **guest_table.COMMANDS,
}
#: Exit codes: 0 success, 1 an error described on stderr, 2 wrong usage, 128 plus the number of the signal received.
ERROR = 1


#: Below so many columns the help has no panels, whose columns would cut words.
_PANEL_COLUMNS = 60


class _ShortHelp:
    """Leaves ``<str>`` after each argument out of the help, and panels where they are too narrow for words."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if (columns := get_terminal_size().columns) < _PANEL_COLUMNS:
            self.rich_markup_mode: Any = None
            formatter.width, formatter.write_dl = columns - 1, partial(formatter.write_dl, col_max=columns // 4)
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperArgument):
                param.type = copy(param.type)
                param.type.get_metavar = lambda *_, **_named: ""  # type: ignore[method-assign]
        return params


def _process_once(option: Any, process: Callable[[Any, Any], None], value: Any, state: Any) -> None:
    """Process an option with a value; one that is not repeatable is given once, or its first value would be lost."""
    if option.action == "store" and option.dest in state.opts:
        raise typer.BadParameter(f"{option.obj.opts[0]} is given twice")
    process(value, state)


class Command(_ShortHelp, TyperCommand):
    """A command; output of a user's puzzle does not mix with its results."""

    def __init__(self, *args: Any, **options: Any) -> None:
        # Paragraphs are wrapped at the terminal's width, not at the line breaks of the source. `python -OO` has none.
        super().__init__(*args, **options | {"help": re.sub(r"(?<!\n)\n(?!\n)", " ", options["help"] or "")})

    def invoke(self, ctx: Any) -> Any:
        if _PANEL_OF.get(ctx.info_name) == "Serve":
            # Services execute the files that are named to them, and drive each run in a process of its own.
            prefer(False)
        with limited_tables(ctx.params.get("memory")), results_apart():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the words; an option of the puzzle, given as one of the command, is refused with its own form."""
        line = " ".join(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            name = getattr(error, "option_name", "").removeprefix("--")
            if name and name in options_of_puzzle(line):
                value = re.search(rf"--{name}[ =](\S+)", line)
                said = f"{name} is an option of the puzzle; use -o {name}={value[1] if value else 'VALUE'}"
                raise typer.BadParameter(said) from None
            raise

    def make_parser(self, ctx: Any) -> Any:
        """Return a parser that refuses repeated options, and reads -1 as a text (of burnt pancakes), not an option."""
        parser = super().make_parser(ctx)
        for given in {*parser._short_opt.values(), *parser._long_opt.values()}:
            given.process = partial(_process_once, given, given.process)  # type: ignore[method-assign]
        read_options = parser._process_opts

        def read(arg: str, state: Any) -> None:
            if re.match(r"-\d", arg):
                state.largs.append(arg)
            else:
                read_options(arg, state)

        parser._process_opts = read  # type: ignore[method-assign]
        return parser


def _asking(name: str) -> list[tuple[str, Callable[..., None], str]]:
    from hakoiri.cli.asking import asking

    return [asking(name)]


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, each created on first use."""

    def __init__(self) -> None:
        self._made = dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            names = [each for each, commands in _MODULES.items() if name in commands.split()]
            modules = [import_module(module) for module in names]
            part, group = typer.Typer(), getattr(modules[0], "GROUPS", {}).get(name) if modules else None
            if group is not None:
                part.add_typer(group, name=name)
            for word, function, example in _asking(name) if name in COMMANDS else declared(name):
                (group or part).command(word, cls=Command, epilog=example)(function)
            found: Any = get_group(part).commands[name]
            found.rich_help_panel, self._made[name] = _PANEL_OF[name], found
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_PANEL_OF)

    def __len__(self) -> int:
        return len(_PANEL_OF)


class Commands(_ShortHelp, TyperGroup):
    """All commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"commands": _LazyCommands()})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, with the lines of the commands from the table: only one that is not in it is imported."""
        from hakoiri.cli.listed import LINES

        listed: Any = copy(self)
        listed.commands = {
            name: TyperCommand(name, help=LINES[name], rich_help_panel=panel) if name in LINES else self.commands[name]
            for name, panel in _PANEL_OF.items()
        }
        super(Commands, listed).format_help(ctx, formatter)


app = typer.Typer(
    name="hakoiri",
    cls=Commands,
    help="Enumerate every configuration of a puzzle, survive any interruption, and answer exactly.",
    epilog="Start with: hakoiri run klotski, then hakoiri path last. The Tab key completes words after: hakoiri "
    "--install-completion bash (zsh, fish). Glossary: on the page of hakoiri serve",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"hakoiri {version('hakoiri')}")
        raise typer.Exit


@app.callback()
def everywhere(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options that belong to no command."""


def main() -> None:
    """Run the command line, except for Ctrl-C (`hakoiri.__main__`)."""
    prepare_streams()
    join_words()
    name_shell()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PuzzleWarning)
            # As for errors, one line.
            warnings.showwarning = lambda message, *_, **__: print_error(message)
            try:
                follow_supervisor()
                app(prog_name="hakoiri")
            finally:
                sys.stdout.flush()
        return
    except HakoiriError as error:
        print_error(worded(error, error.hints))
        sys.exit(outcome_of(type(error)).exit_code)
    except (MemoryError, ImportError, OSError, SystemError) as error:
        print_error(_system_error(error))
    sys.exit(ERROR)


def _system_error(error: MemoryError | ImportError | OSError | SystemError) -> str:
    """Return a line for a refusal by the system; an import error without a limit is a bug, and raised.

    Libraries that get no memory raise `SystemError`, too.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    # The loader of shared libraries gives an error without a number.
    if limit != resource.RLIM_INFINITY and getattr(error, "errno", None) in (None, errno.ENOMEM):
        few = f"this process may have {limit >> 20:,} MB of addresses and needs more"
        return f"{few}; lift its limit with 'ulimit -v unlimited'"
    if isinstance(error, MemoryError):
        detail = str(error) or type(error).__name__
        return f"not enough memory: {detail}; close other programs, or let a run take less with --memory"
    if isinstance(error, ImportError | SystemError):
        raise error
    drop_stdout()
    named = f"{error.filename}: " if error.filename else "the output cannot be written: "
    return f"{named}{error.strerror or error}"


#: Environment variable with the descriptor that the child writes to when it ends by itself.
_ENDING = "HAKOIRI_ENDING"
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


#: The descriptor to report that this process ends by itself; empty if no parent waits for that.
_telling: list[int] = []


def is_apart() -> bool:
    """Return whether another process started this one, and outlives it. Clears the mark for its own children."""
    if (number := os.environ.pop(_ENDING, "")).isdecimal():
        _telling.append(int(number))
    return SUPERVISOR in os.environ


def start_again() -> NoReturn:
    """Run this command in a child process and exit as it does; with an error if it did not end by itself.

    Signals to this process are forwarded; the child has a session of its own, so that Ctrl-C reaches it once.
    """
    told, telling = os.pipe()
    more: dict[str, Any] = {"env": os.environ | {_ENDING: str(telling)}, "start_new_session": True}
    child = start_child("hakoiri", *sys.argv[1:], pass_fds=[telling], **more)
    os.close(telling)

    asked = set[int]()

    def forward(number: int, _: FrameType | None) -> None:
        asked.add(-number)
        child.send_signal(number)

    def pause(_: int, __: FrameType | None) -> None:
        os.killpg(child.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child.pid, signal.SIGCONT)

    for number in _FORWARDED:
        signal.signal(number, forward)
    signal.signal(signal.SIGTSTP, pause)
    code = child.wait()
    # The child writes to the pipe before it ends; a process that it forked may keep the pipe open.
    os.set_blocking(told, False)
    with open(told, "rb") as ended:
        expected = ended.read() or code in asked
    if not expected:
        print_error(f"the process that ran your puzzle ended {how_ended(code)}, which Hakoiri did not ask for")
        sys.exit(128 - code if code < 0 else code or ERROR)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def tell_end() -> None:
    """Tell the parent process that the command ends by itself, whatever its exit code."""
    while _telling:
        os.write(_telling.pop(), b".")
