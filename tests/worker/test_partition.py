"""The key space cut into ranges: every key falls into the one range whose bounds hold it, whatever was sampled."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hakoiri.errors import PayloadError
from hakoiri.keys.layout import LAYOUTS, U32, U64, U128, U256, Key, Layout, ints
from hakoiri.worker.layers.partition import Partition, partition_by, scatter
from tests.support.keys import any_keys, layouts

every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


@st.composite
def samples(draw: st.DrawFn) -> tuple[Layout, list[Key]]:
    """A layout and sorted keys of it, with duplicates: crowded somewhere, or lying anywhere."""
    layout = draw(layouts)
    base = draw(any_keys(layout))
    near = st.integers(0, 1 << draw(st.integers(0, layout.bits))).map(
        lambda offset: min(base + offset, layout.greatest)
    )
    keys = draw(st.sampled_from([near, any_keys(layout)]))
    return layout, sorted(draw(st.lists(keys, min_size=1, max_size=60)))


def near_bounds(partition: Partition) -> list[Key]:
    bounds = [bound for number in range(partition.ranges) for bound in partition.bounds(number)]
    found = {bound + step for bound in bounds for step in (-1, 0, 1)}
    return [key for key in found if 0 <= key <= partition.layout.greatest]


@given(samples(), st.integers(1, 40), st.data())
@example((U32, [0, 2**32 - 1]), 4_096, None)
@example((U64, [2**64 - 1]), 3, None)
@example((U64, [2**64 - 9_000, 2**64 - 1]), 40, None)
@example((U64, [2**63 - 1, 2**63]), 2, None)
@example((U128, [2**64 - 1, 2**64]), 2, None)
@example((U128, [2**128 - 5, 2**128 - 1]), 5, None)
@example((U128, [1, 5, 9]), 3, None)
@example((U256, [1 << 30, 1 << 31]), 3, None)
@example((U256, [1 << 90, 1 << 91]), 3, None)
@example((U256, [0, 2**256 - 1]), 40, None)
@example((U256, [2**255, 2**255 + 2**80]), 8, None)
def test_every_key_falls_into_the_range_that_holds_it(
    drawn: tuple[Layout, list[Key]], ranges: int, data: st.DataObject | None
) -> None:
    layout, sample = drawn
    partition = partition_by(layout.pack(sample), ranges)
    bounds = [partition.bounds(number) for number in range(partition.ranges)]
    assert 1 <= partition.ranges <= ranges
    assert (bounds[0][0], bounds[-1][1]) == (0, layout.greatest + 1)
    assert all(one[1] == other[0] and one[0] < one[1] for one, other in pairwise([*bounds, (layout.greatest + 1, 0)]))
    keys = [*sample, *near_bounds(partition), *(sample[0] ^ 1 << bit for bit in range(0, layout.bits, 9))]
    if data is not None:
        keys += data.draw(st.lists(any_keys(layout), max_size=60))
        keys = data.draw(st.permutations(keys))
    given_keys = layout.pack(keys)
    scattered, ends = scatter(given_keys, partition.table)
    assert ints(given_keys) == keys
    assert layout.holds(scattered)
    assert len(ends) == partition.ranges
    assert sorted(ints(scattered)) == sorted(keys)
    for (low, high), (begin, end) in zip(bounds, pairwise([0, *ends.tolist()]), strict=True):
        assert all(low <= key < high for key in ints(scattered[begin:end]))


@given(samples(), st.integers(1, 8), st.integers(2, 8))
def test_a_range_is_cut_between_its_bounds(drawn: tuple[Layout, list[Key]], ranges: int, pieces: int) -> None:
    """As hosts cut theirs: by the keys that they have of it."""
    layout, sample = drawn
    before = partition_by(layout.pack(sample), ranges)
    cuts, keys = {*before.cuts}, sorted({*sample})
    for low, high in map(before.bounds, range(before.ranges)):
        mine = [key for key in keys if low <= key < high]
        found = partition_by(layout.pack(mine), pieces).cuts
        assert len(found) < pieces
        assert all(low < cut < high for cut in found)
        assert not cuts & {*found}
        cuts |= {*found}
        # Words of bitmaps are not divided, so pieces of keys far apart are as even as 64 keys allow.
        sizes = [sum(begin <= key < end for key in mine) for begin, end in pairwise([low, *found, high])]
        assert max(sizes) <= -(-len(mine) // pieces) + 64
    after = Partition(layout, tuple(sorted(cuts)))
    assert Partition.unpack(after.packed, layout) == after
    _, ends = scatter(layout.pack(keys), after.table)
    bounds = [after.bounds(number) for number in range(after.ranges)]
    assert np.diff([0, *ends]).tolist() == [sum(low <= key < high for key in keys) for low, high in bounds]


@pytest.mark.parametrize(
    "packed", [b"\0" * 4, b"\0\0\0\5" * 2, b"\0\0\0\5\0\0\0\4", b"abc", [5], None, b"\0\0\0\5" * 4_096]
)
def test_what_cuts_no_keys_is_refused(packed: object) -> None:
    with pytest.raises(PayloadError):
        Partition.unpack(packed, U32)  # type: ignore[arg-type]


@every_layout
@pytest.mark.parametrize("spread", [1, 3, 1_000, "all"])
def test_ranges_hold_about_equally_many_keys(spread: int | str, layout: Layout) -> None:
    step = layout.greatest // 20_001 if spread == "all" else int(spread)
    base = 0 if spread == "all" else layout.greatest // 5
    keys = [base + number * step for number in range(20_000)]
    partition = partition_by(layout.pack(keys[::10]), 16)
    assert partition.ranges == 16
    _, ends = scatter(layout.pack(keys), partition.table)
    sizes = np.diff([0, *ends.tolist()])
    assert sizes.min() > 20_000 // 16 * 0.8
    assert sizes.max() < 20_000 // 16 * 1.2


@every_layout
def test_keys_that_crowd_in_few_places_are_cut_there(layout: Layout) -> None:
    crowds = [layout.greatest // 7, layout.greatest // 2, layout.greatest - 5_000]
    keys = [crowd + number for crowd in crowds for number in range(4_000)]
    partition = partition_by(layout.pack(keys[::10]), 24)
    _, ends = scatter(layout.pack(keys), partition.table)
    assert partition.ranges == 24
    assert np.diff([0, *ends.tolist()]).max() < 12_000 // 24 * 1.2


@every_layout
def test_one_key_is_one_range(layout: Layout) -> None:
    for key in (0, 1, layout.greatest):
        partition = partition_by(layout.pack([key] * 5), 9)
        assert partition.ranges == 1
        assert partition.bounds(0) == (0, layout.greatest + 1)
