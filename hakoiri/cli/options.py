"""Commands as functions: their decorator, and the options, arguments and parsers of texts that several share."""

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hakoiri.cli.completing import options_beginning, puzzles_beginning, runs_beginning, words_beginning
from hakoiri.errors import HakoiriError, Hint, PuzzleError
from hakoiri.logs import FORMATS
from hakoiri.puzzles import classics
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.reading import parse_options, read_board
from hakoiri.worker.machine import REDIS

_Function = TypeVar("_Function", bound=Callable[..., None])
#: By the words of its name: the function of each command in the imported modules, and an example.
_DECLARED: dict[tuple[str, ...], tuple[Callable[..., None], str]] = {}


def command_line(example: str, words: int = 1) -> Callable[[_Function], _Function]:
    """Declare a function as a command. The help shows the `example`, which begins with the `words` of its name."""

    def declare(function: _Function) -> _Function:
        _DECLARED[tuple(example.split()[:words])] = function, f"Example: hakoiri {example}"
        return function

    return declare


#: The panel of the help for options of workers and hosts.
TEAM = "Workers and hosts"


def option(names: str, metavar: str | None, text: str, usual: str | bool = True, **more: Any) -> Any:
    """Return an option with a value, which the help calls `metavar`; several names are separated by spaces.

    `usual` is what the help shows as the default.
    """
    return typer.Option(*names.split(), metavar=metavar, help=text, show_default=usual, **more)


def flag(names: str, text: str) -> Any:
    """Return an option without a value."""
    return typer.Option(*names.split(), help=text)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Return an argument, which the help calls `metavar`."""
    return typer.Argument(metavar=metavar, help=text, **more)


def declared(name: str) -> Iterator[tuple[str, Callable[..., None], str]]:
    """Yield the last word, the function for typer and the example of the command `name`, or of each of its group."""
    for words, (function, example) in sorted(_DECLARED.items()):
        if words[0] == name:
            yield words[-1], ungrouped(function), example


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with the options of each group in place of the group's parameter."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, given in signature(command).parameters.items():
        if name in groups:
            inner = get_type_hints(groups[name], include_extras=True)
            parameters += [_option(each.name, inner[each.name], each) for each in fields(groups[name])]
        else:
            parameters.append(_option(name, hints[name], given.default))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        command(**given)

    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _option(name: str, hint: Any, default: Any) -> Parameter:
    """Return an option for typer, which its type describes, or its default (`hakoiri.questions.question.parameter`)."""
    if isinstance(default, Field):
        told, default = dict(default.metadata), Parameter.empty if default.default is MISSING else default.default
        if told:
            names, words = told.pop("names"), told.pop("words", None)
            if words:
                told["autocompletion"] = words_beginning(words)
            hint = Annotated[hint, typer.Option(*names, **told) if names else typer.Argument(**told)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


_MOST_HOSTS = 1_024
_UNITS = {"": 1} | {unit: 1 << 10 * power for power, units in enumerate(("Kk", "Mm", "Gg", "Tt"), 1) for unit in units}
_COUNTS = {"": 1, "k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
#: Timers of the system take ten times as many.
_MOST_SECONDS = 10**9


def _amount(text: str, units: dict[str, int], after: str, expected: str) -> float:
    """Return the number of a text times its unit; `after` is a pattern of what may follow the unit."""
    match = re.fullmatch(rf"\s*(\d{{1,20}}(?:\.\d+)?)\s*([{''.join(units)}]?){after}\s*", text)
    if not match or not float(match[1]):
        raise typer.BadParameter(f"{text!r} is not {expected}")
    return float(match[1]) * units[match[2]]


def parse_size(text: str) -> int:
    """Return the bytes of a text such as ``512MB``, ``2G`` or ``1.5GiB``; a unit is a power of 1,024."""
    return int(_amount(text, _UNITS, "(?:[iI]?[bB])?", "a size; expected one such as 512MB or 2GB"))


def parse_hosts(text: str) -> int:
    """Return the number of hosts, 0 for all live ones, -1 for none."""
    if text in ("all", "none"):
        return 0 if text == "all" else -1
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_HOSTS:
        raise typer.BadParameter(f"{text} must be between 1 and {_MOST_HOSTS:,}, all or none")
    return int(text)


def parse_memory(text: str, least: int | None = None) -> int:
    """Return the bytes of a memory limit, which must be at least `least`, by default `LEAST_MEMORY`."""
    from hakoiri.coordinator.session.resources import LEAST_MEMORY

    if (size := parse_size(text)) < (least := least or LEAST_MEMORY):
        raise typer.BadParameter(f"{text} is below the minimum of {least >> 20}MB")
    return size


def parse_count(text: str) -> int:
    """Return the number of a text such as ``500k`` or ``10M``, in powers of a thousand."""
    expected = "a number of positions; expected one such as 500k or 10M"
    if (count := _amount(text.replace(",", ""), _COUNTS, "", expected)) < 1:
        raise typer.BadParameter(f"{text!r} is not {expected}")
    return round(count)


def parse_time(text: str) -> float:
    """Return the seconds of a text such as ``10m``, ``90s`` or ``1.5h``."""
    if (seconds := _amount(text, _SECONDS, "", "a time; expected one such as 10m, 90s or 1h")) > _MOST_SECONDS:
        raise typer.BadParameter(f"{text} is above the maximum of {_MOST_SECONDS:,}s")
    return seconds


def parse_sizes(text: str, least: int, most: int) -> tuple[int, ...]:
    """Return the sizes of ``4..8``, ``6`` or ``4,6,8``, distinct and increasing; `PuzzleError` for other texts."""
    sizes: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})\s*(?:\.\.\s*(\d{1,9})\s*)?", part)
        if not match:
            raise PuzzleError(f"--sizes {text} is malformed; expected sizes such as 4..8, 6 or 4,6,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise PuzzleError(f"--sizes {text} counts down; write {last}..{first}")
        if first < least or last > most:
            raise PuzzleError(f"--sizes {text}: sizes must be between {least} and {most}")
        sizes |= set(range(first, last + 1))
    return tuple(sorted(sizes))


def parse_directory(text: str) -> Path:
    """Return a directory; an empty text is an error (an unset variable), not the current directory."""
    if not text:
        raise typer.BadParameter("the name of the directory is empty")
    return Path(text)


def parse_share(text: str) -> float:
    """Return a share: ``0.1%`` or ``0.001``."""
    number = text.removesuffix("%")
    try:
        share = float(number) / (100 if number != text else 1)
    except ValueError:
        share = -1
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is not a share; expected 0% to 100%, or 0 to 1")
    return share


def parse_farm(text: str) -> str | int:
    """Return what is sent to workers: ``auto``, ``always``, ``never``, or a number of configurations."""
    if text in ("auto", "always", "never"):
        return text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is not auto, always, never or a number of configurations")
    return int(text)


def own_spec(puzzle: str, options: list[str] | None = None, start: str | None = None) -> PuzzleSpec:
    """Return the puzzle named by the user, with its options; the file of a user puzzle is executed."""
    return with_own_file(PuzzleSpec(puzzle, parse_options(options or []), start))


def spec_of(
    puzzle: str, options: list[str] | None, start: str | None, goal: str | None = None, merge_mirrors: bool = False,
    several: bool = False,
) -> PuzzleSpec:  # fmt: skip
    """Return the puzzle with options, start (`several`: or lines of a file), goal and mirrors; runs a user's file."""
    spec = replace(own_spec(puzzle, options), merge_mirrors=merge_mirrors)
    if goal is not None:
        if "goal" in spec.options:
            raise PuzzleError("--goal and -o goal= cannot be combined", Hint("leave out", "goal"))
        spec = replace(spec, options={**spec.options, "goal": read_board(goal)})
    if start is not None:
        board = read_board(start, spec.are_starts if several else None)
        are_several = several and "\n" not in start and spec.are_starts(board)
        spec = replace(spec, starts=board) if are_several else replace(spec, start=board)
    classic = classics.CLASSICS.get(spec.start or "")
    if classic is None or classic.puzzle != spec.name:
        return spec
    quiet = "goal" not in spec.options
    return replace(spec, start=classic.start, options={**classic.options, **spec.options}, quiet=quiet)


def redis_url(given: str | None) -> str | None:
    """Return the URL of ``--redis``, else of HAKOIRI_REDIS, else ``None``."""
    return given or os.environ.get(REDIS) or None


def required_redis(given: str | None) -> str:
    """Return the same for commands that need Redis."""
    if url := redis_url(given):
        return url
    raise typer.BadParameter("no Redis is given; use --redis redis://HOST:PORT/0, or set HAKOIRI_REDIS")


def redis_flag(given: str | None) -> str:
    """Return `` --redis URL`` for a command to be copied: the known URL without a password.

    Empty if HAKOIRI_REDIS contains a password: the command reads it there, and would be refused with the option.
    """
    if (url := redis_url(given)) is None:
        return " --redis redis://HOST:PORT/0"
    # Called late because it imports redis, which lists mostly do not need.
    from hakoiri.worker.transport.connection import without_password

    shown = without_password(url)
    return "" if not given and shown != url else f" --redis {shlex.quote(shown)}"


def puzzle_argument(which: str) -> Any:
    """Return the argument PUZZLE; `which` is its help."""
    return argument("PUZZLE", which, autocompletion=puzzles_beginning)


def seed_option(of: str) -> Any:
    """Return the option ``--seed``; `of` names the seeded thing in the help."""
    return option("--seed", "S", f"Seed of {of}.", min=0, max=MOST_SEED)


def cap_option(text: str) -> Any:
    """Return the option ``--cap``, with its help."""
    return option("--cap", "POSITIONS", text, parser=parse_count)


def parse_log_format(text: str) -> str:
    """Return a format of logs."""
    if text not in ("", *FORMATS):
        raise typer.BadParameter(f"{text!r} is not a log format; expected {' or '.join(FORMATS)}")
    return text


def serving_metrics(port: int | None, address: str, redis: str | None, **what: str) -> AbstractContextManager[None]:
    """Return a block in which metrics are served, as `hakoiri.metrics.served` does, if a port is given."""
    if port is None:
        return nullcontext()
    try:
        from hakoiri.metrics import served
    except ModuleNotFoundError as error:
        raise HakoiriError(f"{error.name} is not installed; give: pip install 'hakoiri[metrics]'") from error
    return served(port, address, redis, **what)


TimeOption = Annotated[float, option("--time", "TIME", "Time for this call: 10m, 90s or 1h.", parser=parse_time)]
ConfArgument = Annotated[str, argument("CONF", "Board rows joined by '/', a key 0x..., a text file, or - for stdin.")]
RunArgument = Annotated[
    str, argument("RUN", "Name of the run, a unique prefix of it, or 'last'.", autocompletion=runs_beginning)
]
PuzzleArgument = Annotated[str, puzzle_argument("Name of the puzzle, e.g. klotski, or FILE.py:NAME for your own.")]
OwnFileOption = Annotated[
    str | None,
    option("--puzzle", "FILE.py:NAME", "Your puzzle, if the run was created elsewhere.",
           usual="files of your own runs, $HAKOIRI_PUZZLE_FILES"),
]  # fmt: skip
OwnFilesOption = Annotated[
    list[str] | None,
    option("--puzzle", "FILE.py:NAME", "Allow this puzzle of yours; all others are refused. Repeatable.",
           usual="$HAKOIRI_PUZZLE_FILES"),
]  # fmt: skip
DataOption = Annotated[
    Path | None,
    option("--data", "DIR", "Directory of the runs.", parser=parse_directory,
           usual="$HAKOIRI_DATA, else the user data folder"),
]  # fmt: skip
WideOption = Annotated[bool, flag("--wide", "Print digests in full on narrow terminals too.")]
JsonOption = Annotated[bool, flag("--json", "Print one JSON object on stdout, everything else on stderr.")]
RedisOption = Annotated[
    str | None, option("--redis", "URL", "Redis server of the workers.", rich_help_panel=TEAM, usual="$HAKOIRI_REDIS")
]
PuzzleOptions = Annotated[
    list[str] | None, option("-o", "KEY=VALUE", "Option of the puzzle. Repeatable.", autocompletion=options_beginning)
]
MetricsPortOption = Annotated[
    int | None,
    option("--metrics-port", "N", "Answer Prometheus at this port; 0 for any free one.", min=0, max=65535,
           usual="no metrics"),
]  # fmt: skip
MetricsHostOption = Annotated[str, option("--metrics-host", "ADDRESS", "With --metrics-port: address to listen on.")]
LogFormatOption = Annotated[
    str,
    option("--log-format", "text|json", "Format of the log on stderr.", parser=parse_log_format,
           usual="$HAKOIRI_LOG_FORMAT, else text"),
]  # fmt: skip
MemoryOption = Annotated[
    int | None,
    option("--memory", "SIZE", "Memory limit, 100MB or more.", parser=parse_memory,
           usual="half of what is free"),
]  # fmt: skip
QueueOption = Annotated[bool, flag("--queue", "Queue the run for the coordinator and return at once.")]
FromOption = Annotated[
    str | None,
    option("--from", "CONF|FILE", "Start here: rows joined by '/', 0x..., a text file, - for stdin, or a classic.",
           usual="the puzzle's"),
]  # fmt: skip
GoalOption = Annotated[
    str | None,
    option("--goal", "CONF|FILE",
           "Goal to use, '*' for anything; same as -o goal=CONF. The run shows it as a board."),
]  # fmt: skip
