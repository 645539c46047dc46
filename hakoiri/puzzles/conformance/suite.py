"""All promises together: the list of those that a puzzle breaks, in words."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import islice, pairwise
from string import ascii_letters, digits
from typing import NamedTuple

from hakoiri.errors import ConfigurationError, HakoiriError, MisreadError, PuzzleError
from hakoiri.keys.layout import Key
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.conformance import rules
from hakoiri.puzzles.conformance.pool import Case, Pool, RefusedError, check_line, describe_key, error_line, explored
from hakoiri.puzzles.contract import Puzzle

#: The most moves checked for their words.
_TOLD = 200


def check_attributes(pool: Pool) -> None:
    """The attributes of the puzzle make sense, and options that it does not have are refused."""
    puzzle = pool.puzzle
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", puzzle.name):
        raise RefusedError(f"name {puzzle.name!r} has characters other than lower-case letters, digits and '-'")
    if puzzle.version <= 0:
        raise RefusedError(f"version {puzzle.version} is below 1")
    if puzzle.most_successors >= 1 << 16:
        raise RefusedError(f"most_successors {puzzle.most_successors} is above 65535")
    for name, option in puzzle.options.items():
        if not option.describe():
            raise RefusedError(f"option {name} does not describe its allowed values")
    try:
        pool.case.build({"no-such-option": "1"}, pool.case.start)
    except PuzzleError:
        return
    raise RefusedError("the unknown option no-such-option is accepted")


def check_start(pool: Pool) -> None:
    """The text of the start and the options make the same puzzle again, as a run does that is resumed."""
    puzzle = pool.puzzle
    text = puzzle.start_text()
    check_line(text)
    again = pool.case.build(puzzle.parameters, text)
    for name in ("parameters", "start", "layout", "undirected", "most_successors", "has_mirrors"):
        now, then = getattr(again, name), getattr(puzzle, name)
        if now != then:
            raise RefusedError(f"{name} is {then!r}, but {now!r} in a puzzle made from its start {text!r}")
    if again.start_text() != text:
        raise RefusedError(f"a puzzle made from the start {text!r} writes its start as {again.start_text()!r}")


def check_texts(pool: Pool) -> None:
    """Texts and keys lead to each other: `parse_text` reads what `render` writes."""
    puzzle = pool.puzzle
    for key in pool.keys:
        text = puzzle.render(key)
        check_line(text)
        texts = [f" {key:#x}\n", f"0X{key:X}", *([text, f" {text}\n"] if _has_own(puzzle, "parse_text") else [])]
        for each in texts:
            if (back := puzzle.parse(each)) != key:
                raise RefusedError(f"{key:#x} is rendered as {text!r}, but {each!r} is parsed as {back:#x}")


def check_refusals(pool: Pool) -> None:
    """Texts of no configuration are refused in one line by `ConfigurationError`, none taken for another key's."""
    puzzle, chance = pool.puzzle, random_words(1)
    for text in ("", "0x", "0xg", "0x-1", f"{puzzle.layout.greatest + 1:#x}"):
        if rules.key_of(puzzle, text) is not None:
            raise RefusedError(f"{text!r} is accepted as a configuration")
    for key in pool.keys:
        text = puzzle.render(key)
        one, other = sorted(next(chance) % len(text) for _ in range(2))
        for altered in (
            text[:one] + text[one + 1 :],
            text[:one] + text[other:] + text[one:other],
            f"{text[:one]}?{text[one + 1 :]}",
            f"{text}/{text[:one]}",
            f"{key ^ 1 << next(chance) % puzzle.layout.bits:#x}",
        ):
            if (taken := rules.key_of(puzzle, altered)) is None:
                continue
            puzzle.check_key(taken)
            back = rules.key_of(puzzle, puzzle.render(taken)) if _has_own(puzzle, "parse_text") else taken
            if back != taken:
                raise RefusedError(
                    f"{altered!r} is parsed as {taken:#x}, which is rendered as {puzzle.render(taken)!r}, the text of "
                    "another key"
                )
        for at in (one, other):
            for marks in (digits, ascii_letters):
                if text[at] in marks:
                    try:
                        puzzle.parse(f"{text[:at]}{marks[next(chance) % len(marks)]}{text[at + 1 :]}")
                    except MisreadError as error:
                        raise RefusedError(str(error)) from None
                    except ConfigurationError:
                        continue


def check_moves_in_words(pool: Pool) -> None:
    """Every move has words on one line, unlike those of the other moves of its configuration; so have paths."""
    puzzle = pool.puzzle
    for path in pool.paths:
        real = _lifted(puzzle, path) if isinstance(puzzle, Quotient) else path
        words = (puzzle.base if isinstance(puzzle, Quotient) else puzzle).describe_moves(real)
        if len(words) != len(path) - 1:
            raise RefusedError(f"describe_moves returns {len(words)} texts for {len(path) - 1} moves")
        for said in words:
            _check_words(said)
    if isinstance(puzzle, Quotient):
        return
    known: dict[tuple[Key, str], Key] = {}
    for before, after in islice(pool.arcs, _TOLD):
        said = puzzle.describe_move(before, after)
        _check_words(said)
        if known.setdefault((before, said), after) != after and not pool.case.vague:
            raise RefusedError(f"two moves of {describe_key(puzzle, before)} have the same description, {said!r}")


def check_pictures(pool: Pool) -> None:
    """Each configuration of a path has a text that is read as it, and a picture whose parts have different names."""
    puzzle, path = pool.puzzle, pool.paths[0]
    if isinstance(puzzle, Quotient):
        return
    texts, pictures = puzzle.render_path(path), puzzle.pictures(path)
    if not len(texts) == len(pictures) == len(path):
        raise RefusedError(f"a path of {len(path)} configurations has {len(texts)} texts and {len(pictures)} pictures")
    for key, text, picture in zip(path, texts, pictures, strict=True):
        if _has_own(puzzle, "parse_text") and puzzle.parse(text) != key:
            raise RefusedError(
                f"render_path writes {describe_key(puzzle, key)} as {text!r}, which is another configuration"
            )
        names = Counter(part.name for part in picture.parts).most_common(1)
        if names and names[0][1] > 1:
            raise RefusedError(
                f"two parts of the picture of {describe_key(puzzle, key)} have the same name, {names[0][0]!r}"
            )


def _lifted(puzzle: Quotient, path: list[Key]) -> list[Key]:
    """Return the path of the base puzzle that belongs to a path of classes."""
    real = puzzle.lift(path, path[0])
    if [puzzle.parse(f"{key:#x}") for key in real] != path:
        raise RefusedError("lift returns configurations of other mirror classes than those of the path")
    for before, after in pairwise(real):
        if after not in puzzle.base.successors(before):
            raise RefusedError(f"lift goes from {before:#x} to {after:#x}, which is not a move")
    return real


def _check_words(said: str) -> None:
    if not said:
        raise RefusedError("the description of a move is empty")
    check_line(said)


#: The promise on which all checks build: if it fails, nothing else can be tried.
RULES = "rules"
#: Promise -> the check that refuses a puzzle that breaks it; its docstring is the promise in words.
CHECKS: dict[str, Callable[[Pool], None]] = {
    "attributes": check_attributes,
    "start": check_start,
    "expand": rules.check_expand,
    "undirected": rules.check_undirected,
    "texts": check_texts,
    "refusals": check_refusals,
    "listing": rules.check_listing,
    "goals": rules.check_goals,
    "keys": rules.check_keys,
    "mirrors": rules.check_mirrors,
    "orbits": rules.check_orbits,
    "symmetry maps": rules.check_symmetry_maps,
    "moves in words": check_moves_in_words,
    "pictures": check_pictures,
}
#: The check on which another builds: if that one fails, the other is not tried.
_BUILDS_ON = {
    **dict.fromkeys(("undirected", "mirrors", "orbits", "symmetry maps"), "expand"),
    **dict.fromkeys(("refusals", "pictures"), "texts"),
}


#: Promise -> whether a puzzle makes it; it makes all others.
_CLAIMED: dict[str, Callable[[Puzzle], object]] = {
    "undirected": lambda puzzle: puzzle.undirected,
    "texts": lambda puzzle: _has_own(puzzle, "render"),
    "listing": lambda puzzle: _has_own(puzzle, "configurations"),
    "goals": lambda puzzle: puzzle.has_goal,
    "keys": lambda puzzle: puzzle.fields is not None or _has_own(puzzle, "are_keys"),
    "mirrors": lambda puzzle: puzzle.has_mirrors,
    "orbits": lambda puzzle: puzzle.orbits(puzzle.keys([puzzle.start])) is not None,
    "symmetry maps": lambda puzzle: puzzle.symmetry_maps(),
    "moves in words": lambda puzzle: _has_own(puzzle, "describe_move") or _has_own(puzzle, "describe_moves"),
}


class Verdict(NamedTuple):
    """A promise in words and its fault: empty if it is kept, ``None`` if it could not be tried.

    A promise that is not `claimed` has no fault.
    """

    check: str
    promise: str
    wrong: str | None
    claimed: bool = True


def verdicts(case: Case) -> list[Verdict]:
    """Return the verdict on each promise of a puzzle."""
    found, unclaimed = refused(case), set[str]()
    if RULES not in found:
        puzzle = case.build(case.options, case.start)
        unclaimed = {name for name, claims in _CLAIMED.items() if name not in found and not claims(puzzle)}
    promises = {RULES: "The start and the successors of a configuration are configurations."}
    promises |= {name: check.__doc__ or "" for name, check in CHECKS.items()}
    untried = {name for name in CHECKS if RULES in found or _BUILDS_ON.get(name) in found}
    return [
        Verdict(name, said, None if name in untried else found.get(name, ""), name not in unclaimed)
        for name, said in promises.items()
    ]


def _has_own(puzzle: Puzzle, method: str) -> bool:
    return getattr(type(puzzle), method) is not getattr(Puzzle, method)


def refused(case: Case) -> dict[str, str]:
    """Return the checks that a puzzle does not pass, each with the fault."""
    try:
        pool = explored(case)
    except Exception as error:
        return {RULES: _said(error)}
    return refusals(pool)


def refusals(pool: Pool) -> dict[str, str]:
    """Return `refused` of a puzzle some of whose configurations are known."""
    found: dict[str, str] = {}
    for name, check in CHECKS.items():
        if _BUILDS_ON.get(name) not in found:
            try:
                check(pool)
            except Exception as error:
                found[name] = _said(error)
    return found


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, HakoiriError) else error_line(error)
