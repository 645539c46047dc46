"""The texts and b-files of sequences: made from the tables, and equal to what OEIS has of them."""

import pytest

from campaigns.oeis import FOLDER, SEQUENCES, page, texts

#: The terms of entries, as OEIS has them, by the name of the sequence here and the first n.
_PUBLISHED = {
    # A143807.
    ("hanoi-4-pegs-shortest-ways", 1): [1, 2, 2, 22, 40, 18, 2468, 11698, 11426, 2178, 74056628],
    # A039745, from n = 4 on.
    ("lx-depth", 4): [6, 11, 18, 25, 35, 45, 58, 71],
    ("block-transpositions", 1): [1, 1, 1, 1, 4, 1, 1, 10, 12, 1, 1, 20, 68, 31, 1, 35, 259, 380, 45],  # A164366
    ("reversals", 2): [1, 1, 1, 3, 2, 1, 6, 15, 2, 1, 10, 52, 55, 2, 1, 15, 129, 389, 184, 2],  # A300003, from n = 2 on
    # A164645, whose rows have n numbers.
    ("prefix-transpositions", 1): [1, 1, 1, 1, 3, 2, 1, 6, 14, 3, 1, 10, 50, 55, 4, 1, 15, 130, 375, 194, 5],
    # A186783, from n = 4 on.
    ("lrx-depth", 4): [6, 10, 15, 21, 28, 36, 45, 55],
}


def b_file(name: str) -> dict[int, int]:
    lines = (FOLDER / f"b-{name}.txt").read_text(encoding="utf-8").splitlines()
    return {int(n): int(term) for n, term in map(str.split, lines)}


@pytest.mark.parametrize(("name", "first"), _PUBLISHED)
def test_terms_are_those_of_the_entry(name: str, first: int) -> None:
    published = dict(enumerate(_PUBLISHED[name, first], first))
    assert published == {n: term for n, term in b_file(name).items() if n in published}


def test_the_files_are_made_from_the_tables() -> None:
    made = {
        f"{name}.txt": text
        for each in SEQUENCES
        for name, text in zip((each.name, f"b-{each.name}"), texts(each), strict=True)
    }
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()} == made | {"index.md": page()}
