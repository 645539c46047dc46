"""All promises together: the list of those that a puzzle breaks, in words."""

from collections.abc import Callable
from typing import NamedTuple

from hakoiri.puzzles.conformance import claims
from hakoiri.puzzles.conformance.checks import error_line
from hakoiri.puzzles.conformance.pool import Case, Pool, explored
from hakoiri.puzzles.conformance.rules import check_expand, check_goals, check_listing, check_undirected
from hakoiri.puzzles.conformance.symmetries import check_mirrors, check_orbits, check_symmetry_maps
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


class Verdict(NamedTuple):
    """A promise in words and its fault: empty if it is kept, ``None`` if it could not be tried."""

    check: str
    promise: str
    wrong: str | None


def verdicts(case: Case) -> list[Verdict]:
    """Return the verdict on each promise of a puzzle."""
    found = refused(case)
    promises = {RULES: "The start and the successors of a configuration are configurations."}
    promises |= {name: check.__doc__ or "" for name, check in CHECKS.items()}
    untried = {name for name in CHECKS if RULES in found or _BUILDS_ON.get(name) in found}
    return [Verdict(name, said, None if name in untried else found.get(name, "")) for name, said in promises.items()]


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
