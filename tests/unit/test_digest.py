"""Digests of sets of configurations: independent of cutting and order, and changed by every change."""

import hashlib
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from storage.digest import NOTHING, Lanes, add_lanes, chain, digest_text, lanes_of

WORD = 1 << 64
MOST = WORD - 1
KEYS = st.sampled_from([0, 1, MOST, MOST - 1, 1 << 63, 1 << 32]) | st.integers(0, MOST)


def stafford(key: int) -> int:
    """Mix 13, the finaliser of splitmix64, of the key plus 2**64 divided by the golden ratio."""
    x = (key + 0x9E3779B97F4A7C15) % WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def murmur(key: int) -> int:
    """The finaliser of MurmurHash3, of the key plus another odd constant."""
    x = (key + 0xC2B2AE3D27D4EB4F) % WORD
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD % WORD
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 % WORD
    return x ^ x >> 33


def slow_lanes(keys: set[int]) -> Lanes:
    return sum(map(stafford, keys)) % WORD, sum(map(murmur, keys)) % WORD


def lanes(keys: list[int]) -> Lanes:
    return lanes_of(np.array(keys, dtype=np.uint64))


@given(st.sets(KEYS, max_size=60))
@example(set())
@example({0})
@example({MOST})
def test_lanes_are_the_sums_of_the_mixed_keys(keys: set[int]) -> None:
    assert lanes(list(keys)) == slow_lanes(keys)


def test_splitmix64_itself() -> None:
    """The first two outputs of splitmix64 seeded with 0, as its author publishes them."""
    assert lanes([0])[0] == 0xE220A8397B1DCDAF
    assert lanes([0x9E3779B97F4A7C15])[0] == 0x6E789E6AA1B965F4


@given(st.sets(KEYS, max_size=60), st.randoms(use_true_random=False), st.lists(st.integers(0, 60), max_size=5))
def test_cutting_and_order_do_not_matter(keys: set[int], rng: Random, cuts: list[int]) -> None:
    shuffled = list(keys)
    rng.shuffle(shuffled)
    bounds = [0, *sorted(cuts), len(shuffled)]
    total = NOTHING
    for begin, end in pairwise(bounds):
        total = add_lanes(lanes(shuffled[begin:end]), total)
    assert total == lanes(sorted(keys))


@given(st.sets(KEYS, min_size=1, max_size=40), KEYS, st.data())
def test_every_change_changes_it(keys: set[int], other: int, data: st.DataObject) -> None:
    assume(other not in keys)
    gone = data.draw(st.sampled_from(sorted(keys)))
    variants = [keys, keys | {other}, keys - {gone}, keys - {gone} | {other}]
    digests = [digest_text(lanes(list(variant))) for variant in variants]
    assert len(set(digests)) == len(digests)


@given(st.sets(st.integers(0, 2**32 - 1), max_size=60))
def test_the_width_of_keys_does_not_matter(keys: set[int]) -> None:
    assert lanes_of(np.array(list(keys), dtype=np.uint32)) == lanes(list(keys))


def test_text_shows_both_lanes_in_full() -> None:
    assert digest_text((1, 0xAB)) == "000000000000000100000000000000ab"
    assert digest_text(NOTHING) == 32 * "0"


def test_chain_is_sha256_of_the_lines() -> None:
    assert chain(["ab", b"\xff"]) == hashlib.sha256(b"ab\n\xff\n").hexdigest()
    assert chain([]) == hashlib.sha256().hexdigest()


@pytest.mark.parametrize(("one", "other"), [(["ab", "c"], ["a", "bc"]), (["a", "b"], ["b", "a"]), ([""], [])])
def test_chain_sees_order_and_borders(one: list[str], other: list[str]) -> None:
    assert chain(one) != chain(other)
