"""Digests of sets of configurations: independent of cutting and order, and changed by every change."""

import hashlib
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hakoiri.keys.layout import U32, U64, U128, U256, Key, Layout
from hakoiri.storage.layers.blocks import NOTHING, Lanes, add_lanes, chain, digest_text, lanes_of
from tests.support.keys import any_keys, every_layout, lanes_by_the_book, layouts, words_of

Drawn = tuple[Layout, set[Key]]


@st.composite
def sets_of_keys(draw: st.DrawFn, min_size: int = 0) -> Drawn:
    """A layout and some of its keys."""
    layout = draw(layouts)
    return layout, draw(st.sets(any_keys(layout), min_size=min_size, max_size=40))


def lanes(layout: Layout, keys: list[Key]) -> Lanes:
    return lanes_of(layout.pack(keys))


@given(sets_of_keys())
@example((U64, set()))
@example((U32, {0}))
@example((U128, {0}))
@example((U64, {2**64 - 1}))
@example((U256, {2**256 - 1}))
def test_lanes_are_the_sums_of_the_mixed_keys(drawn: Drawn) -> None:
    layout, keys = drawn
    assert lanes(layout, list(keys)) == lanes_by_the_book(keys, layout)


def test_splitmix64_itself() -> None:
    """The first two outputs of splitmix64 seeded with 0, as its author publishes them."""
    assert lanes(U64, [0])[0] == 0xE220A8397B1DCDAF
    assert lanes(U64, [0x9E3779B97F4A7C15])[0] == 0x6E789E6AA1B965F4


@pytest.mark.ci_slow
@given(sets_of_keys(), st.randoms(use_true_random=False), st.lists(st.integers(0, 60), max_size=5))
def test_cutting_and_order_do_not_matter(drawn: Drawn, rng: Random, cuts: list[int]) -> None:
    layout, keys = drawn
    shuffled = list(keys)
    rng.shuffle(shuffled)
    bounds = [0, *sorted(cuts), len(shuffled)]
    total = NOTHING
    for begin, end in pairwise(bounds):
        total = add_lanes(lanes(layout, shuffled[begin:end]), total)
    assert total == lanes(layout, sorted(keys))


@pytest.mark.ci_slow
@given(sets_of_keys(min_size=1), st.data())
def test_every_change_changes_it(drawn: Drawn, data: st.DataObject) -> None:
    layout, keys = drawn
    other = data.draw(any_keys(layout))
    assume(other not in keys)
    gone = data.draw(st.sampled_from(sorted(keys)))
    variants = [keys, keys | {other}, keys - {gone}, keys - {gone} | {other}]
    digests = [digest_text(lanes(layout, list(variant))) for variant in variants]
    assert len(set(digests)) == len(digests)


@given(st.sets(st.integers(0, 2**32 - 1), max_size=60))
def test_the_width_of_single_words_does_not_matter(keys: set[int]) -> None:
    assert lanes(U32, list(keys)) == lanes(U64, list(keys))


@every_layout
def test_nothing_has_no_lanes(layout: Layout) -> None:
    assert lanes(layout, []) == NOTHING


def test_text_shows_both_lanes_in_full() -> None:
    assert digest_text((1, 0xAB)) == "000000000000000100000000000000ab"
    assert digest_text(NOTHING) == 32 * "0"


def test_chain_is_sha256_of_the_lines() -> None:
    assert chain(["ab", b"\xff"]) == hashlib.sha256(b"ab\n\xff\n").hexdigest()
    assert chain([]) == hashlib.sha256().hexdigest()


@pytest.mark.parametrize(("one", "other"), [(["ab", "c"], ["a", "bc"]), (["a", "b"], ["b", "a"]), ([""], [])])
def test_chain_sees_order_and_borders(one: list[str], other: list[str]) -> None:
    assert chain(one) != chain(other)


@given(st.data(), st.sampled_from([U128, U256]))
def test_every_word_of_a_wide_key_counts_in_its_place(data: st.DataObject, layout: Layout) -> None:
    key = data.draw(any_keys(layout))
    flipped = {key ^ 1 << bit for bit in range(layout.bits)}
    words = words_of(key, layout)
    turned = [words[place:] + words[:place] for place in range(layout.words)]
    moved = {sum(word << 64 * place for place, word in enumerate(reversed(row))) for row in turned}
    digests = {lanes(layout, [other]) for other in {key} | flipped | moved}
    assert len(digests) == len({key} | flipped | moved)
