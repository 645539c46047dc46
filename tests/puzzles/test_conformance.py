"""Every puzzle of the registry and of the examples keeps the promises of the contract, and every check can refuse one.

A new puzzle of the registry is tried with its defaults, unasked; then `support/conformance/pins.json` must have it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hakoiri.guests.boards.puzzle import Sliding
from hakoiri.puzzles.conformance.pool import Case, explored
from hakoiri.puzzles.conformance.suite import CHECKS, RULES, refusals, refused, verdicts
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PUZZLES, puzzle_class
from tests.support.conformance.broken import BROKEN
from tests.support.conformance.dial import CHANGED, Dial
from tests.support.conformance.pins import DIGESTS, VERSIONS, digest_of
from tests.support.conformance.samples import SAMPLES, Sample, examples, samples_of
from tests.support.seeds import usual

BUILT_IN = samples_of(PUZZLES)
EVERY = [*BUILT_IN, *samples_of(examples())]


def name_of(sample: Sample) -> str:
    return sample.name


def dial(kind: type[Dial] | type[MergedMirrors], layout: str = "u64") -> Case:
    def build(options: Mapping[str, str], start: str | None) -> Puzzle:
        return kind(options, start) if issubclass(kind, Dial) else kind(Dial(options, start))

    return Case(build=build, options={"layout": layout}, goal="at 100")


@usual(2, "sample", [pytest.param(each, marks=pytest.mark.slow) if each.slow else each for each in EVERY], ids=name_of)
def test_a_puzzle_keeps_its_promises_and_what_is_pinned(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = explored(sample.case())
    assert refusals(pool) == {}
    if pool.puzzle.layout.words > 1:
        words = pool.puzzle.keys(pool.keys)
        assert np.count_nonzero((words != words[0]).any(axis=0)) > 1, "a poor sample: keys differ in one word alone"
    if pool.puzzle.has_mirrors:
        # Among the first million keys are those that are pinned; of classes a few thousand will do.
        monkeypatch.setattr(Sliding, "block", 1 << 13)
        assert refusals(explored(sample.case(merge_mirrors=True))) == {}
    if sample in BUILT_IN:
        found = pool.puzzle.version, digest_of(pool)
        assert found == (VERSIONS.get(sample.puzzle, 1), DIGESTS.get(sample.name)), (
            f"{sample.name}: keys, texts, moves or goals are not those pinned. If that is intended, increase the "
            f"puzzle's version, and pin it and the digests in tests/support/conformance/pins.json; they are {found} now"
        )


def test_what_is_pinned_is_sampled() -> None:
    assert VERSIONS.keys() <= {*PUZZLES} and 1 not in VERSIONS.values()
    assert DIGESTS.keys() == {sample.name for sample in BUILT_IN}


def test_samples_are_of_puzzles_that_there_are() -> None:
    assert {sample.puzzle for sample in SAMPLES} <= {*PUZZLES, *examples()}
    assert len({sample.name for sample in EVERY}) == len(EVERY)


def test_a_puzzle_without_a_sample_is_tried_with_its_defaults() -> None:
    assert samples_of(["newcomer", "pyraminx"])[0] == Sample("newcomer")
    assert {sample.puzzle for sample in EVERY} == {*PUZZLES, *examples()}


@pytest.mark.parametrize("name", PUZZLES)
def test_every_choice_of_an_option_is_sampled(name: str) -> None:
    options = puzzle_class(name).options
    for option, values in ((key, found.values) for key, found in options.items() if isinstance(found, Choice)):
        taken = {sample.case().options.get(option, options[option].default) for sample in samples_of([name])}
        assert taken == {*values}, option


#: Wider keys are those of definitions alone.
_MEASURED = ("u32", "u64", "u128", "u256")


def test_keys_of_every_width_are_sampled() -> None:
    made = (sample.case() for sample in BUILT_IN if sample.puzzle in ("gap", "nakuron"))
    assert {case.build(case.options, case.start).layout.name for case in made} == {*_MEASURED}


@pytest.mark.parametrize("layout", _MEASURED)
@pytest.mark.parametrize("honest", [Dial, MergedMirrors])
def test_an_honest_puzzle_is_not_refused(honest: type[Dial], layout: str) -> None:
    assert refused(dial(honest, layout)) == {}


@pytest.mark.parametrize(
    ("broken", "layout"),
    # One word or two makes no difference to most checks: by default in turn the one or the other.
    [
        pytest.param(broken, layout, marks=() if number % 2 == place else pytest.mark.slow)
        for number, broken in enumerate(BROKEN)
        for place, layout in enumerate(["u64", "u128"])
    ],
)
def test_a_broken_promise_is_refused_by_its_check_alone(broken: Any, layout: str) -> None:
    found = refused(dial(broken, layout))
    assert found.keys() == {broken.refused_by}, found


@pytest.mark.ci_slow
def test_verdicts_say_what_was_promised_what_is_wrong_and_what_was_not_tried() -> None:
    assert all(each.promise and each.wrong == "" for each in verdicts(dial(Dial)))
    broken = {kind.refused_by: verdicts(dial(kind)) for kind in BROKEN}
    assert {each.check for each in broken["expand"] if each.wrong} == {"expand"}
    untried = {each.check for each in broken["expand"] if each.wrong is None}
    assert untried == {"undirected", "mirrors", "orbits", "symmetry maps"}
    assert [each.wrong is None for each in broken[RULES]] == [False, *[True] * len(CHECKS)]


def test_a_promise_that_a_puzzle_does_not_make_is_not_claimed() -> None:
    class Bare(Dial):
        undirected = False
        has_mirrors = vertex_transitive = False
        render, is_goal, describe_move = Puzzle.render, Puzzle.is_goal, Puzzle.describe_move
        canonical = Puzzle.canonical
        configurations, parse_text = Puzzle.configurations, Puzzle.parse_text
        symmetry_maps, orbits, are_keys = Puzzle.symmetry_maps, Puzzle.orbits, Puzzle.are_keys

    assert [each.check for each in verdicts(dial(Dial)) if not each.claimed] == ["symmetry maps"]
    optional = {
        "undirected", "texts", "listing", "goals", "keys", "mirrors", "orbits", "symmetry maps", "moves in words",
    }  # fmt: skip
    assert {each.check for each in verdicts(replace(dial(Bare), goal=None)) if not each.claimed} == optional


def test_every_check_refuses_a_puzzle() -> None:
    assert {broken.refused_by for broken in BROKEN} == {RULES, *CHECKS}


@pytest.mark.parametrize("changed", CHANGED)
def test_a_change_of_keys_moves_or_goals_changes_what_is_pinned(changed: type[Dial]) -> None:
    assert digest_of(explored(dial(changed))) != digest_of(explored(dial(Dial)))
