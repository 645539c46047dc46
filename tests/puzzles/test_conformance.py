"""Every puzzle of the registry and of the examples keeps the promises of the contract, and every check can refuse one.

A new puzzle of the registry is tried with its defaults, unasked; it must then be pinned in `tests.puzzles.samples`.
"""

import pytest

from puzzles.keys import LAYOUTS
from puzzles.options import Choice
from puzzles.registry import PUZZLES, puzzle_class
from tests.puzzles.broken import BROKEN, CHANGED, Dial
from tests.puzzles.conformance import CHECKS, Case, digest_of, explored, refusals
from tests.puzzles.samples import SAMPLES, VERSIONS, Sample, examples, samples_of

PINNED = samples_of(PUZZLES)
EVERY = [*PINNED, *samples_of(examples())]


def name_of(sample: Sample) -> str:
    return sample.name


def dial(kind: type[Dial], layout: str = "u64") -> Case:
    return Case(build=kind, options={"layout": layout}, goal="at 30")


@pytest.mark.parametrize("sample", EVERY, ids=name_of)
def test_a_puzzle_keeps_its_promises(sample: Sample) -> None:
    case = sample.case()
    assert refusals(case) == {}
    if case.build(case.options, case.start).has_mirrors:
        assert refusals(sample.case(merge_mirrors=True)) == {}


@pytest.mark.parametrize("sample", PINNED, ids=name_of)
def test_keys_moves_and_goals_do_not_change_without_a_new_version(sample: Sample) -> None:
    pool = explored(sample.case())
    found = pool.puzzle.version, digest_of(pool)
    assert found == (VERSIONS.get(sample.puzzle), sample.digest), (
        f"{sample.name}: keys, texts, moves or goals are not those pinned. If that is intended, increase the puzzle's "
        f"version, and pin it and the digests in tests/puzzles/samples.py; they are {found} now"
    )


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


def test_keys_of_every_width_are_sampled() -> None:
    wide = {explored(sample.case()).puzzle.layout.name for sample in PINNED if sample.puzzle in ("gap", "nakuron")}
    assert wide == {*LAYOUTS}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_honest_puzzle_is_not_refused(layout: str) -> None:
    assert refusals(dial(Dial, layout)) == {}


@pytest.mark.parametrize(("check", "broken"), [(check, kind) for check, kinds in BROKEN.items() for kind in kinds])
@pytest.mark.parametrize("layout", ["u64", "u128"])
def test_a_broken_promise_is_refused_by_its_check_alone(check: str, broken: type[Dial], layout: str) -> None:
    found = refusals(dial(broken, layout))
    assert found.keys() == {check}, found


def test_every_check_refuses_a_puzzle() -> None:
    assert BROKEN.keys() == {"rules", *CHECKS}


@pytest.mark.parametrize("changed", CHANGED)
def test_a_change_of_keys_moves_or_goals_changes_what_is_pinned(changed: type[Dial]) -> None:
    assert digest_of(explored(dial(changed))) != digest_of(explored(dial(Dial)))
