"""Shell completion: puzzles, their options and values, runs. Avoids slow imports.

Bash splits words at ``:`` and ``=``. `join_words` joins such words again, and stores the part before the last split of
the completed word: only the part after it is offered.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

from hakoiri.coordinator.runs.catalogue import LAST, data_directory
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.names import by_age, run_directories

#: Environment variable of typer by which a shell requests completion.
_ASKED = "_HAKOIRI_COMPLETE"
_WORDS, _PLACE = "COMP_WORDS", "COMP_CWORD"
#: The line, as other shells than bash pass it.
_LINE = "_TYPER_COMPLETE_ARGS"
_CUTS = (":", "=")
#: Makes typer require the name of a shell, because the shell that it detects need not be the user's.
_SHELL_IS_NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
#: An option of a puzzle before the completed word.
_GIVEN = re.compile(r"\s-o\s*([^\s=]+)=\S*\s")
#: The part of the completed word that bash has split off.
_BEFORE = "HAKOIRI_COMPLETED_BEFORE"


def puzzles_beginning(incomplete: str) -> list[str]:
    """Return names of puzzles, and the classes in files of users."""
    from hakoiri.puzzles.user.sources import classes_in

    word = _whole(incomplete).partition(":")[0]
    folder = Path(word).parent
    files = sorted(folder.glob("*.py")) if folder.is_dir() else []
    own = (f"{file}:{name}" for file in files if str(file).startswith(word) for name in classes_in(file))
    return _offered([*PUZZLES, *own], incomplete)


def _whole(incomplete: str) -> str:
    """Return the completed word, with the part that bash has split off."""
    return os.environ.get(_BEFORE, "") + incomplete


def options_beginning(incomplete: str) -> list[str]:
    """Return options of the puzzle named before, as ``NAME=VALUE``, or ``NAME=`` for any value."""
    line = os.environ.get(_WORDS) or os.environ.get(_LINE, "")
    options, given = options_of_puzzle(line), _GIVEN.findall(line)
    left = ((name, values or [""]) for name, values in options.items() if name not in given)
    return _offered((f"{name}={value}" for name, values in left for value in values), incomplete)


def options_of_puzzle(line: str) -> dict[str, list[str]]:
    """Return the options of the puzzle on the line; typer does not parse a line that ends with ``-o``."""
    from hakoiri.puzzles.user.sources import options_in, source_of

    for word in line.split():
        if word in PUZZLES:
            module, _, kind = PUZZLES[word].partition(":")
            return options_in(source_of(module), kind)
        if ".py:" in word:
            file, _, kind = word.rpartition(":")
            return options_in(Path(file), kind)
    return {}


def runs_beginning(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return names of runs, the one created last first, and ``last``."""
    runs = sorted(run_directories(data_directory(ctx.params.get("data"))), key=by_age, reverse=True)
    return _offered([LAST, *(run.name for run in runs)], incomplete)


def words_beginning(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of one of some words."""

    def offered(incomplete: str) -> list[str]:
        return _offered(words, incomplete)

    return offered


def name_shell() -> None:
    """Let ``--install-completion`` and ``--show-completion`` accept the name of a shell."""
    os.environ[_SHELL_IS_NAMED] = "1"


def _offered(words: Iterable[str], incomplete: str) -> list[str]:
    before = _whole("")
    return [word.removeprefix(before) for word in words if word.startswith(before + incomplete)]


def join_words() -> None:
    """Join the words that bash has split at ``:`` and ``=``, in the environment variables of its completion."""
    if _ASKED not in os.environ or not os.environ.get(_PLACE, "").isdecimal():
        return
    text, place = os.environ.get(_WORDS, ""), int(os.environ[_PLACE])
    *words, last = [*text.split("\n" if "\n" in text else " "), ""][: place + 1]
    if last in _CUTS:
        words, last = [*words, last], ""
    joined: list[str] = []
    for number, word in enumerate(words):
        cut = joined and (word in _CUTS or words[number - 1] in _CUTS)
        joined = [*joined[:-1], joined[-1] + word] if cut else [*joined, word]
    if words and words[-1] in _CUTS:
        os.environ[_BEFORE] = joined.pop()
    os.environ |= {_WORDS: "\n".join([*joined, last]), _PLACE: str(len(joined))}
