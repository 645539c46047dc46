"""Runs made: a puzzle checked, its identity pinned in a manifest, and built again from there."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from coordinator.errors import MismatchError
from coordinator.runs.catalogue import new_run_name
from coordinator.session.resources import Resources
from puzzles.capabilities import Placements, Quotient
from puzzles.contract import Puzzle
from puzzles.errors import PuzzleError
from puzzles.registry import PuzzleSpec, puzzle_class, with_own_file
from puzzles.user.files import find_again, known
from puzzles.user.guard import try_out
from storage.engine.environment import refuse_network_file_system
from storage.layers.store import RunStore
from storage.ledger.ledger import create_run
from storage.ledger.manifest import Manifest, Mode
from storage.names import FORMAT_VERSION

#: Among a manifest's settings: where the file of a puzzle of one's own was when the run was made.
_OWN_FILE = "puzzle_file"


def make_run(
    data: Path, spec: PuzzleSpec, mode: Mode, until_goal: bool, resources: Resources, queued: bool = False
) -> Path:
    """The directory of a new run in state queued. Checks the puzzle and its options; durable on return.

    Runs the file of a puzzle of one's own, which the user has named.
    """
    spec = with_own_file(spec)
    if issubclass(puzzle_class(spec.name, spec.digest), Placements):
        _check_tree(spec, mode, until_goal)
        mode = "tree"
    if mode == "whole":
        _check_whole(spec, until_goal)
    puzzle = spec.build()
    if mode == "whole" and not puzzle.undirected:
        # What a census stores of a component are distances between all its configurations: here there are none.
        raise PuzzleError(
            f"{puzzle.name} is directed, and --whole measures components whose configurations all lead to each other: "
            "leave out --whole, then ask 'hakoiri components last --strong'"
        )
    kept = resources.lasting()
    if spec.digest:
        try_out(puzzle)
        kept[_OWN_FILE] = str(known(spec.name, spec.digest).path)
    run = new_run_name(data, puzzle.name)
    # The start is pinned in full, so that a later change of a puzzle's usual start cannot change the run.
    # Where mirrors are merged it is the user's own start, not the least of its images.
    base = puzzle.base if isinstance(puzzle, Quotient) else puzzle
    pinned = replace(spec, options=puzzle.parameters, start=_text_of_start(base))
    manifest = Manifest(
        FORMAT_VERSION, run, time.strftime("%Y-%m-%d %H:%M:%S"), pinned.as_dict(), puzzle.version,
        puzzle.layout.name, mode, until_goal, kept,
    )  # fmt: skip
    refuse_network_file_system(data)
    return create_run(data, manifest, queued)


def _check_tree(spec: PuzzleSpec, mode: Mode, until_goal: bool) -> None:
    """`PuzzleError` for ways to ask for a tree that make no sense."""
    asked = {"--whole": mode == "whole", "--until-goal": until_goal, "--from": spec.start is not None}
    for option in (name for name, given in asked.items() if given):
        raise PuzzleError(f"{spec.name} counts every solution, from the empty figure: leave out {option}")


def _check_whole(spec: PuzzleSpec, until_goal: bool) -> None:
    """`PuzzleError` for a census that makes no sense."""
    puzzle = puzzle_class(spec.name, spec.digest)
    if until_goal:
        raise PuzzleError("--whole counts every configuration, to no goal: leave out --until-goal")
    if spec.start is not None and not puzzle.start_is_board:
        raise PuzzleError("--whole counts every configuration, from no start: leave out --from")
    if spec.start is None and puzzle.start_is_board:
        raise PuzzleError(f"{puzzle.name} --whole counts every configuration of a board: name it with --from BOARD")
    if puzzle.configurations is Puzzle.configurations:
        raise PuzzleError(f"{puzzle.name} cannot list its whole space; leave out --whole")


def _text_of_start(puzzle: Puzzle) -> str:
    """The start as a text that leads back to it, a key where the puzzle draws texts that it does not read."""
    text = puzzle.start_text()
    with suppress(PuzzleError):
        if puzzle.parse(text) == puzzle.start:
            return text
    return f"{puzzle.start:#x}"


def pinned_puzzle(store: RunStore) -> tuple[Puzzle, PuzzleSpec]:
    """The puzzle of a run, built anew. `MismatchError` if it is not what the run was begun with."""
    manifest = store.manifest
    spec = _pinned_spec(manifest)
    try:
        puzzle = spec.build()
    except PuzzleError as error:
        raise MismatchError(f"run {manifest.run} cannot be continued: {error}") from error
    for what, pinned, here in (
        ("the puzzle's version", manifest.puzzle_version, puzzle.version),
        ("the parameters", dict(spec.options), puzzle.parameters),
        ("the key layout", manifest.layout, puzzle.layout.name),
    ):
        if pinned != here:
            raise MismatchError(
                f"run {manifest.run} was begun with another puzzle: {what} was {pinned}, here it is {here}; "
                "use the Hakoiri that began it, or start a new run"
            )
    return puzzle, spec


def _pinned_spec(manifest: Manifest) -> PuzzleSpec:
    """What a run was begun with, the file of a puzzle of one's own loaded again; `MismatchError` if it is gone."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    if spec.digest:
        try:
            find_again(spec.name, spec.digest, str(manifest.settings.get(_OWN_FILE, "")))
        except PuzzleError as error:
            raise MismatchError(f"run {manifest.run} cannot be opened: {error}") from error
    return spec


def require_same(manifest: Manifest, options: Mapping[str, str], puzzle: str | None, start: str | None) -> None:
    """Raise `MismatchError` if a resume names another puzzle, option or start than the run has; says which."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    named = with_own_file(PuzzleSpec(puzzle)) if puzzle is not None else spec
    given: dict[str, tuple[Any, Any]] = {name: (spec.options.get(name), value) for name, value in options.items()}
    given["puzzle"] = (spec.name, named.name)
    given["a puzzle file with the digest"] = (spec.digest[:12] or "none", named.digest[:12] or "none")
    if start is not None:
        built = _pinned_spec(manifest).build()
        given["start"] = (built.render(built.start), built.render(built.parse(start)))
    for name, (pinned, wanted) in given.items():
        if pinned != wanted:
            raise MismatchError(
                f"run {manifest.run} has {name} {pinned}, the resume names {wanted}; leave that out, or start a new run"
            )
