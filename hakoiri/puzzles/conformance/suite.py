"""All promises together: the list of those that a puzzle breaks, in words."""

from collections.abc import Callable
from typing import NamedTuple

from hakoiri.puzzles.conformance import claims
from hakoiri.puzzles.conformance.checks import error_line
from hakoiri.puzzles.conformance.pool import Case, Pool, explored
from hakoiri.puzzles.conformance.rules import check_expand, check_goals, check_keys, check_listing, check_undirected
from hakoiri.puzzles.conformance.symmetries import check_mirrors, check_orbits, check_symmetry_maps
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import HakoiriError

#: The promise on which all checks build: if it fails, nothing else can be tried.
RULES = "rules"
#: Promise -> the check that refuses a puzzle that breaks it; its docstring is the promise in words.
CHECKS: dict[str, Callable[[Pool], None]] = {
    "attributes": claims.check_attributes,
    "start": claims.check_start,
    "expand": check_expand,
    "undirected": check_undirected,
    "texts": claims.check_texts,
    "refusals": claims.check_refusals,
    "listing": check_listing,
    "goals": check_goals,
    "keys": check_keys,
    "mirrors": check_mirrors,
    "orbits": check_orbits,
    "symmetry maps": check_symmetry_maps,
    "moves in words": claims.check_moves_in_words,
    "pictures": claims.check_pictures,
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
