"""Keys of every layout as batches, as bytes and in order: all against Python's own integers."""

import random
from bisect import bisect_left
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hakoiri.keys import order
from hakoiri.keys.layout import (
    LAYOUTS,
    U32,
    U64,
    U128,
    U256,
    Key,
    Keys,
    Layout,
    ints,
    is_batch,
    key_at,
    layout_of,
    narrowest,
)
from hakoiri.keys.order import KeyIndex, lower_bounds
from hakoiri.keys.splitmix import random_word, random_words
from tests.support.keys import any_keys, every_layout, increasing_keys, layouts, words_of


@st.composite
def batches(draw: st.DrawFn, count: int = 1, max_size: int = 60) -> tuple[Layout, list[list[Key]]]:
    """A layout and some lists of its keys, in any order, with duplicates within and between them."""
    layout = draw(layouts)
    few = draw(st.lists(any_keys(layout), min_size=1, max_size=8))
    keys = st.lists(st.sampled_from(few) | any_keys(layout), max_size=max_size)
    return layout, [draw(keys) for _ in range(count)]


# Batches


@pytest.mark.parametrize(("bits", "layout"), [(0, U32), (33, U64), (64, U64), (65, U128), (129, U256), (256, U256)])
def test_the_narrowest_layout_that_is_wide_enough(bits: int, layout: Layout) -> None:
    assert narrowest(bits) is layout


def test_no_layout_is_wide_enough_for_more() -> None:
    with pytest.raises(ValueError, match="2049 bits"):
        narrowest(2049)


@pytest.mark.ci_slow
@given(batches())
def test_batches_hold_what_was_packed(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (keys,) = drawn
    packed = layout.pack(keys)
    assert layout.holds(packed)
    assert layout_of(packed) is layout
    assert is_batch(packed)
    assert len(packed) == len(keys)
    assert ints(packed) == keys
    assert [key_at(packed, index) for index in range(len(keys))] == keys
    assert np.asarray(packed).reshape(len(keys), layout.words).tolist() == [words_of(key, layout) for key in keys]
    assert ints(packed[::2]) == keys[::2]
    assert ints(np.concatenate([packed, packed[:1]])) == keys + keys[:1]


@every_layout
@pytest.mark.parametrize("beyond", [-1, 1])
def test_what_is_no_key_is_not_packed(layout: Layout, beyond: int) -> None:
    wrong = -1 if beyond < 0 else layout.greatest + 1
    with pytest.raises(OverflowError):
        layout.pack([0, wrong])


def test_a_batch_is_of_one_layout_only() -> None:
    batches_of_three = {name: layout.empty(3) for name, layout in LAYOUTS.items()}
    for name, keys in batches_of_three.items():
        assert [other for other, layout in LAYOUTS.items() if layout.holds(keys)] == [name]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.uint16), np.zeros((3, 2), dtype=np.uint32),
        np.zeros((3, 7), dtype=np.uint64), np.zeros((3, 1), dtype=np.uint64), np.zeros((3, 2, 2), dtype=np.uint64),
        np.zeros(3, dtype=">u8"), np.array(3, dtype=np.uint64),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)  # fmt: skip
def test_other_arrays_are_no_keys(array: np.ndarray) -> None:
    assert not any(layout.holds(array) for layout in LAYOUTS.values())
    assert not is_batch(array)
    with pytest.raises(KeyError, match=str(array.dtype)):
        layout_of(array)


@pytest.mark.ci_slow
@given(batches())
def test_bytes_are_big_endian_and_order_as_keys_do(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (keys,) = drawn
    raw = layout.big_endian(layout.pack(keys))
    each = [key.to_bytes(layout.bytes, "big") for key in keys]
    assert raw == b"".join(each)
    assert [int.from_bytes(one, "big") for one in sorted(each)] == sorted(keys)
    for source in (raw, memoryview(raw)):
        found = layout.from_big_endian(source)
        assert layout.holds(found)
        assert ints(found) == keys
        assert found.dtype.isnative


@every_layout
def test_bytes_that_are_no_whole_number_of_keys_are_refused(layout: Layout) -> None:
    raw = layout.big_endian(layout.pack([1, layout.greatest]))
    for length in range(1, 2 * layout.bytes):
        if length % layout.bytes:
            with pytest.raises(ValueError, match=r"."):
                layout.from_big_endian(raw[:length])


# Order


@given(batches(count=2))
def test_less_and_equal_are_those_of_the_numbers(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (some, others) = drawn
    keys, more = layout.pack(some), layout.pack(others)
    for one, other in zip(range(len(some)), range(len(others)), strict=False):
        assert order.less(keys, one, more, other) == (some[one] < others[other])
        assert order.equal(keys, one, more, other) == (some[one] == others[other])
        assert not order.less(keys, one, keys, one)
        assert order.equal(keys, one, keys, one)
    length = min(len(some), len(others))
    same = [one == other for one, other in zip(some, others, strict=False)]
    assert order.equal_rows(keys[:length], more[:length]).tolist() == same
    if others:
        assert order.equal_rows(keys, more[:1]).tolist() == [key == others[0] for key in some]


def shared_words(layout: Layout, count: int, seed: int) -> list[Key]:
    """Keys with many ties in their first words, some of them longer than an insertion sort likes."""
    rng = np.random.default_rng(seed)
    some = [int(word) for word in rng.integers(0, 2**63, 4)]
    words = rng.integers(0, 2 + seed % 3, (count, layout.words)).tolist()
    keys = [sum(some[word] << 64 * place for place, word in enumerate(reversed(row))) for row in words]
    return [(key + int(low)) & layout.greatest for key, low in zip(keys, rng.integers(0, count, count), strict=True)]


@given(batches(max_size=120))
def test_sorting(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (keys,) = drawn
    found = order.sort_keys(layout.pack(keys))
    assert layout.holds(found)
    assert ints(found) == sorted(keys)
    by = order.order_of(layout.pack(keys)).tolist()
    assert by == sorted(range(len(keys)), key=lambda index: (keys[index], index))


@every_layout
@pytest.mark.parametrize("count", [2, 23, 24, 25, 26, 100, 3_000])
def test_sorting_many_ties(layout: Layout, count: int) -> None:
    for seed in range(6):
        keys = shared_words(layout, count, seed)
        for given_keys in (keys, sorted(keys), sorted(keys, reverse=True)):
            assert ints(order.sort_keys(layout.pack(given_keys))) == sorted(keys)
        by = order.order_of(layout.pack(keys)).tolist()
        assert by == sorted(range(count), key=lambda index: (keys[index], index))


@given(batches())
def test_increasing_means_strictly(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (keys,) = drawn
    for some in (keys, sorted(keys), sorted(set(keys))):
        assert order.is_increasing(layout.pack(some)) == all(before < after for before, after in pairwise(some))


@given(batches(count=2))
def test_lower_bounds_and_members(drawn: tuple[Layout, list[list[Key]]]) -> None:
    layout, (some, wanted) = drawn
    some.sort()
    keys, asked = layout.pack(some), layout.pack(wanted)
    assert order.lower_bounds(keys, asked).tolist() == [bisect_left(some, key) for key in wanted]
    assert order.members(keys, asked).tolist() == [key in some for key in wanted]


@st.composite
def ranges(draw: st.DrawFn) -> tuple[Layout, list[Key], Key, Key]:
    """Keys in any order, and a range of them whose end may be one beyond the greatest key."""
    layout, (keys,) = draw(batches())
    bound = any_keys(layout) | st.sampled_from([*keys, 0])
    return layout, keys, draw(bound), draw(bound | st.just(layout.greatest + 1))


@pytest.mark.ci_slow
@given(ranges())
@example((U128, [0, 1 << 64, 2**128 - 1], 0, 2**128))
@example((U256, [2**256 - 1], 2**256 - 1, 2**256))
@example((U64, [2**64 - 1], 0, 2**64 - 1))
def test_ranges_hold_the_keys_between_their_bounds(drawn: tuple[Layout, list[Key], Key, Key]) -> None:
    layout, keys, low, high = drawn
    inside = [low <= key < high for key in keys]
    assert order.mask_between(layout.pack(keys), low, high).tolist() == inside
    keys.sort()
    if low <= high:
        packed = layout.pack(keys)
        found = order.slice_between(packed, low, high)
        assert ints(found) == [key for key in keys if low <= key < high]
        assert not len(found) or np.shares_memory(found, packed)


@given(st.data())
def test_sorted_batches_of_a_layout_stay_what_they_are(data: st.DataObject) -> None:
    layout = data.draw(layouts)
    keys: Keys = layout.pack(data.draw(increasing_keys(layout)))
    before = keys.copy()
    order.lower_bounds(keys, keys)
    order.members(keys, keys)
    order.slice_between(keys, 0, layout.greatest)
    assert not len(order.slice_between(keys, layout.greatest + 1, layout.greatest + 1))
    assert (keys == before).all()


@every_layout
@pytest.mark.parametrize("most", [90, 3_000])
def test_places_are_lower_bounds(layout: Layout, most: int) -> None:
    """Dense keys, whose table answers, and sparse ones, at either end of what the layout holds."""
    rng = random.Random(most)
    for begin in (0, 64, layout.greatest - most):
        values = sorted({begin + rng.randrange(most) for _ in range(60)})
        around = range(max(0, begin - 70), min(layout.greatest, begin + most + 70))
        wanted = [*values, *rng.sample(around, 150), 0, layout.greatest]
        places = KeyIndex.of(keys := layout.pack(values))
        assert len(places.table) == 0 or layout.words == 1
        assert (len(places.table) > 0) == (most == 90 and layout.words == 1)
        assert places.lower_bounds(layout.pack(wanted)).tolist() == lower_bounds(keys, layout.pack(wanted)).tolist()
    assert KeyIndex.of(layout.pack([])).lower_bounds(layout.pack([5])).tolist() == [0]


@pytest.mark.parametrize("state", [0, 1, 2**63, 2**64 - 1])
def test_random_words_of_the_kernel_are_those_of_the_plain_rule(state: int) -> None:
    held = np.array([state], dtype=np.uint64)
    assert [int(random_word(held)) for _ in range(50)] == list(islice(random_words(state), 50))
