"""Commands as functions: their decorator, and the options, arguments and parsers of texts that several share."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from hakoiri.cli.completing import options_beginning, puzzles_beginning, runs_beginning, words_beginning
from hakoiri.errors import HakoiriError, Hint, PuzzleError, visible
from hakoiri.parameters import flag, parameter
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


def declared(name: str) -> Iterator[tuple[str, Callable[..., None], str]]:
    """Yield the last word, the function for typer and the example of the command `name`, or of each of its group."""
    for words, (function, example) in sorted(_DECLARED.items()):
        if words[0] == name:
            yield words[-1], ungrouped(function), example


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with the options of each group in place of the group's parameter."""
    hints = get_type_hints(command)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[tuple[str, Any, Field[Any]]] = []
    for name, given in signature(command).parameters.items():
        if name in groups:
            inner = get_type_hints(groups[name])
            options += [(each.name, inner[each.name], each) for each in _shown(groups[name])]
        else:
            options.append((name, hints[name], given.default))
    parameters = list(starmap(_option, options))
    files = {
        name: [*each.metadata["names"], _FILE][0] for name, _, each in options if each.metadata["metavar"] == _FILE
    }

    @wraps(command)
    def called(**given: Any) -> None:
        _require_distinct({option: given[name] for name, option in files.items() if given[name] is not None})
        for name, group in groups.items():
            given[name] = group(**{option.name: _read(option, given.pop(option.name)) for option in _shown(group)})
        command(**given)

    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


#: The metavar of options and arguments that name a file.
_FILE = "FILE"


def _require_distinct(files: Mapping[str, str | Path]) -> None:
    """Raise `PuzzleError` if two options name one file: what is written last would replace the rest."""
    places: dict[str, str] = {}
    for option, file in files.items():
        first = places.setdefault(os.path.realpath(file), option)
        if first != option:
            raise PuzzleError(f"{first} and {option} name the same file, {file}; choose another file for {option}")


def _shown(group: Any) -> list[Field[Any]]:
    """Return the fields of a group that the command line has."""
    return [each for each in fields(group) if "names" in each.metadata]


def _read(option: Field[Any], value: Any) -> Any:
    reader = _READERS.get(option.metadata.get("read", ""))
    return value if reader is None else reader(value)


def _option(name: str, hint: Any, given: Field[Any]) -> Parameter:
    """Return the option or argument for typer of a parameter (`hakoiri.parameters`) with this type."""
    told, default = dict(given.metadata), Parameter.empty if given.default is MISSING else given.default
    names, words = told.pop("names"), told.pop("words", None)
    for each in ("plan", "limit", "form"):
        told.pop(each, None)
    if words:
        told["autocompletion"] = words_beginning(words)
    if amount := told.pop("amount", None):
        told["parser"] = {"count": parse_count, "time": parse_time}[amount]
    default = Parameter.empty if told.pop("required", False) else told.pop("typed", default)
    if told.pop("read", None):
        hint = str
    made = typer.Option(*names, **told) if names else typer.Argument(**told)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, made])


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


def parse_moves(text: str) -> str:
    """Return a number or range of moves; `PuzzleError` for other texts."""
    bounds = re.fullmatch(r"(\d{1,4})(\.\.(\d{1,4})?)?", text)
    if not bounds or (bounds[3] and int(bounds[3]) < int(bounds[1])):
        raise PuzzleError(f"--moves {text} is malformed; expected a number or range such as 25, 25.. or 25..30")
    return text


#: The greatest size of any puzzle; each puzzle checks its own sizes.
MOST_SIZE = 64
#: The readers of texts by the name that a parameter gives; unlike typer's, they leave an error as it is.
_READERS: dict[str, Callable[[str], Any]] = {
    "sizes": lambda text: parse_sizes(text, 1, MOST_SIZE), "moves": parse_moves,
}  # fmt: skip


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
    """Return the puzzle named by the user, with its options; the file of a user puzzle is executed.

    What was read from a file with a definition is said on stderr.
    """
    found = with_own_file(PuzzleSpec(puzzle, parse_options(options or []), start))
    if found.definition:
        from rich.text import Text

        from hakoiri.puzzles.definitions.definition import Definition
        from hakoiri.render.tables import stderr

        line = visible(f"{found.name}: {Definition.read(found.definition).summary()}")
        stderr().print(Text(line, "dim"), soft_wrap=True)
    return found


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
    if spec.start is None:
        return spec
    from hakoiri.puzzles.classics import CLASSICS

    classic = CLASSICS.get(spec.start)
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
    return parameter("", "PUZZLE", which, autocompletion=puzzles_beginning)


def seed_option(of: str) -> Any:
    """Return the option ``--seed``; `of` names the seeded thing in the help."""
    return parameter("--seed", "S", f"Seed of {of}.", default=1, min=0, max=MOST_SEED)


def parse_log_format(text: str) -> str:
    """Return a format of logs."""
    from hakoiri.logs import FORMATS

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


# Parameters of several commands. A field may be in several dataclasses, under one name.
CONF = parameter("", "CONF", "Board rows joined by '/', a key 0x..., a text file, or - for stdin.")
RUN = parameter("", "RUN", "Name of the run, a unique prefix of it, or 'last'.", autocompletion=runs_beginning)
PUZZLE = puzzle_argument("Name of the puzzle, e.g. klotski, or FILE.py:NAME for your own.")
OWN_FILE = parameter(
    "--puzzle", "FILE.py:NAME", "Your puzzle, if the run was created elsewhere.",
    "files of your own runs, $HAKOIRI_PUZZLE_FILES",
)  # fmt: skip
OWN_FILES = parameter(
    "--puzzle", "FILE.py:NAME", "Allow this puzzle of yours; all others are refused. Repeatable.",
    "$HAKOIRI_PUZZLE_FILES",
)  # fmt: skip
DATA = parameter(
    "--data", "DIR", "Directory of the runs.", "$HAKOIRI_DATA, else the user data folder", parser=parse_directory
)
WIDE = flag("--wide", "Print digests in full on narrow terminals too.")
JSON = flag("--json", "Print one JSON object on stdout, everything else on stderr.")
REDIS_URL = parameter("--redis", "URL", "Redis server of the workers.", "$HAKOIRI_REDIS", rich_help_panel=TEAM)
PUZZLE_OPTIONS = parameter("-o", "KEY=VALUE", "Option of the puzzle. Repeatable.", autocompletion=options_beginning)
METRICS_PORT = parameter(
    "--metrics-port", "N", "Answer Prometheus at this port; 0 for any free one.", "no metrics", min=0, max=65535
)
METRICS_HOST = parameter("--metrics-host", "ADDRESS", "With --metrics-port: address to listen on.", default="127.0.0.1")
LOG_FORMAT = parameter(
    "--log-format", "text|json", "Format of the log on stderr.", "$HAKOIRI_LOG_FORMAT, else text", "",
    parser=parse_log_format,
)  # fmt: skip
MEMORY = parameter("--memory", "SIZE", "Memory limit, 100MB or more.", "half of what is free", parser=parse_memory)
QUEUE = flag("--queue", "Queue the run for the coordinator and return at once.")
FROM = parameter(
    "--from", "CONF|FILE", "Start here: rows joined by '/', 0x..., a text file, - for stdin, or a classic.",
    "the puzzle's",
)  # fmt: skip
GOAL = parameter(
    "--goal", "CONF|FILE",
    "Goal to use, '*' for anything; same as -o goal=CONF. The run shows it as a board.",
)  # fmt: skip
