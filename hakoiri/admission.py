"""Loads the puzzle files that the user has named: to create runs, to open them, and for a service at its start."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hakoiri.coordinator.errors import MismatchError
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import configured_files, find_again, load, load_file
from hakoiri.storage.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger


def admit(directory: Path, word: str | None = None) -> None:
    """Load the puzzle file of a run, if it needs one: that of ``word`` (FILE.py:NAME), else as `find_again`.

    Raises `MismatchError` if the run has another puzzle than `word`, or if its file is missing or was not named. A
    damaged run is ignored; opening it reports the damage.
    """
    manifest = None
    with suppress(StorageError), Ledger(directory) as ledger:
        manifest = ledger.manifest
    if manifest is None:
        return
    name, digest = manifest.puzzle.get("name", ""), manifest.puzzle.get("digest", "")
    if not digest:
        if word is not None:
            raise MismatchError(f"run {directory.name} is of the built-in puzzle {name}, not of {word}")
        return
    try:
        find_again(name, digest, word)
    except PuzzleError as error:
        raise MismatchError(f"run {directory.name} cannot be opened: {error}", *error.hints) from error


def admitted(words: Iterable[str]) -> dict[str, PuzzleSpec]:
    """Load the puzzles of a service: the files that the environment names, and those of ``FILE.py:NAME`` words.

    Returns the puzzles of the words by name. Raises `PuzzleError` if a file is not a puzzle.
    """
    for path in configured_files():
        load_file(path)
    found = (PuzzleSpec(name, digest=digest) for name, digest in map(load, words))
    return {spec.name: spec for spec in found}
