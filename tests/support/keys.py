"""Plain Python versions of the product's kernels, and keys of every layout for them."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import strategies as st

from hakoiri.keys.layout import LAYOUTS, Key, Layout
from hakoiri.storage.layers.blocks import Lanes

WORD = 1 << 64


def stafford(word: int) -> int:
    """Mix 13, the finaliser of splitmix64, of a word plus 2**64 divided by the golden ratio."""
    x = (word + 0x9E3779B97F4A7C15) % WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def murmur(word: int) -> int:
    """The finaliser of MurmurHash3, of a word plus another odd constant."""
    x = (word + 0xC2B2AE3D27D4EB4F) % WORD
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD % WORD
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 % WORD
    return x ^ x >> 33


def lanes_by_the_book(keys: Iterable[Key], layout: Layout) -> Lanes:
    """The digest of some keys, from its description."""
    lanes = [sum(_mixed(key, mix, layout) for key in keys) % WORD for mix in (stafford, murmur)]
    return lanes[0], lanes[1]


def digest_by_the_book(keys: Iterable[Key], layout: Layout) -> str:
    """The same as users see it."""
    return "".join(f"{lane:016x}" for lane in lanes_by_the_book(list(keys), layout))


def words_of(key: Key, layout: Layout) -> list[int]:
    """The words of a key, the most significant first."""
    bits = 8 * layout.dtype.itemsize
    return [key >> bits * place & (1 << bits) - 1 for place in reversed(range(layout.words))]


def _mixed(key: Key, mix: Callable[[int], int], layout: Layout) -> int:
    mixed = 0
    for word in words_of(key, layout):
        mixed = mix((mixed + word) % WORD)
    return mixed


layouts = st.sampled_from(list(LAYOUTS.values()))
#: Keys of many words take the longest. More than four are handled by the same code: CI tries the fewest and the most.
_CI_SLOW = {"u256": pytest.mark.ci_slow, "u320": pytest.mark.ci_slow, "u2560": pytest.mark.ci_slow}
LAYOUT_CASES = [
    pytest.param(layout, marks=() if layout.words < 4 else _CI_SLOW.get(name, pytest.mark.slow), id=name)
    for name, layout in LAYOUTS.items()
]
every_layout = pytest.mark.parametrize("layout", LAYOUT_CASES)


def any_keys(layout: Layout) -> st.SearchStrategy[Key]:
    """Keys that crowd, that lie anywhere, and those where words and varints begin and end."""
    edges = {0, 1, 127, 128, 129}
    for bits in range(0, layout.bits + 1, 32):
        edges |= {(1 << bits) - 1, 1 << bits, (1 << bits) + 1, layout.greatest - (1 << bits), layout.greatest - bits}
    within = sorted(key for key in edges if 0 <= key <= layout.greatest)
    return st.sampled_from(within) | st.integers(0, 400) | st.integers(0, layout.greatest)


def increasing_keys(layout: Layout, min_size: int = 0, max_size: int = 60) -> st.SearchStrategy[list[Key]]:
    """Strictly increasing keys."""
    return st.sets(any_keys(layout), min_size=min_size, max_size=max_size).map(sorted)
