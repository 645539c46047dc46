"""What the Tab key offers: puzzles, their options and values, runs. Nothing is imported for it that takes time.

Bash takes ``:`` and ``=`` for words of their own. `join_words` puts words together again that were cut there, and keeps
what it has before the last cut of the word that is completed: only what comes after that is offered.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

import typer

#: How a shell asks for completion, by typer.
_ASKED = "_HAKOIRI_COMPLETE"
_WORDS, _PLACE = "COMP_WORDS", "COMP_CWORD"
#: What other shells give.
_LINE = "_TYPER_COMPLETE_ARGS"
_CUTS = (":", "=")
#: By this typer wants a shell to be named. The one that it takes itself for the user's need not be his.
_SHELL_IS_NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
#: An option of a puzzle that stands before the word that is completed.
_GIVEN = re.compile(r"\s-o\s*([^\s=]+)=\S*\s")
#: What bash has on the line before the word that it completes, of the same word as we see it.
_BEFORE = "HAKOIRI_COMPLETED_BEFORE"


def puzzles_beginning(incomplete: str) -> list[str]:
    """Names of puzzles, and the classes in files of users."""
    from hakoiri.puzzles.outline import classes_in
    from hakoiri.puzzles.registry import PUZZLES

    folder = Path(_whole(incomplete)).parent
    files = sorted(folder.glob("*.py")) if folder.is_dir() else []
    own = (f"{file}:{name}" for file in files if _fits(file, _whole(incomplete)) for name in classes_in(file))
    return _offered([*PUZZLES, *own], incomplete)


def _whole(incomplete: str) -> str:
    """The word that is completed, with what bash has cut off."""
    return os.environ.get(_BEFORE, "") + incomplete


def _fits(file: Path, incomplete: str) -> bool:
    return str(file).startswith(incomplete.partition(":")[0])


def options_beginning(incomplete: str) -> list[str]:
    """Options of the puzzle that was named before, as ``NAME=VALUE``, or ``NAME=`` where that may be much."""
    line = os.environ.get(_WORDS) or os.environ.get(_LINE, "")
    options, given = _options_of_puzzle(line), _GIVEN.findall(line)
    left = ((name, values or [""]) for name, values in options.items() if name not in given)
    return _offered((f"{name}={value}" for name, values in left for value in values), incomplete)


def _options_of_puzzle(line: str) -> dict[str, list[str]]:
    """Those of the puzzle on the line; typer does not parse a line that ends with ``-o``."""
    from hakoiri.puzzles.outline import options_in, source_of
    from hakoiri.puzzles.registry import PUZZLES

    for word in line.split():
        if word in PUZZLES:
            module, kind = PUZZLES[word]
            return options_in(source_of(module), kind)
        if ".py:" in word:
            file, _, kind = word.rpartition(":")
            return options_in(Path(file), kind)
    return {}


def runs_beginning(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of runs, the one made last first, and ``last``."""
    from hakoiri.coordinator.runs.catalogue import LAST, data_directory
    from hakoiri.storage.names import by_age, run_directories

    runs = sorted(run_directories(data_directory(ctx.params.get("data"))), key=by_age, reverse=True)
    return _offered([LAST, *(run.name for run in runs)], incomplete)


def statuses_beginning(incomplete: str) -> list[str]:
    """What a run can be."""
    from hakoiri.coordinator.runs.catalogue import STATUSES

    return _offered(STATUSES, incomplete)


def ends_beginning(incomplete: str) -> list[str]:
    """Where a path may lead, but for configurations."""
    return _offered(["goal", "farthest"], incomplete)


def name_shell() -> None:
    """Let ``--install-completion`` and ``--show-completion`` take the name of a shell."""
    os.environ[_SHELL_IS_NAMED] = "1"


def _offered(words: Iterable[str], incomplete: str) -> list[str]:
    before = _whole("")
    return [word.removeprefix(before) for word in words if word.startswith(before + incomplete)]


def join_words() -> None:
    """Put together what bash has cut at ``:`` and ``=``, in the environment by which it asks for completion."""
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
