"""Goals that the user chooses, and turns in place of colours: against texts alone, for every puzzle that takes them."""

import pytest

from hakoiri.keys.layout import Key
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, with_own_file
from tests.support.conformance.samples import examples
from tests.support.seeds import usual

#: Puzzle, options, and how much of a text a pattern keeps: one cell, or word, of so many.
PATTERNS = [
    ("tiles", "", 3), ("tiles", "rows=2 columns=5", 3), ("tiles", "rows=5 columns=2", 3),
    ("tiles", "rows=1 columns=4", 2), ("tiles", "rows=4 columns=4", 7), ("tiles", "rows=1 columns=2", 2),
    ("tiles", "rows=7 columns=2", 4),
    ("pancakes", "n=5", 2), ("burnt-pancakes", "n=4", 2), ("topspin", "n=6", 2), ("hanoi", "pegs=3 discs=4", 2),
    ("gap", "ranks=3", 5), ("superpuzz", "columns=4", 6), ("peg-solitaire", "symmetry=off", 4), ("nakuron", "", 9),
    ("lights_out.py:LightsOut", "n=3", 3), ("pyraminx", "", 4), ("cube2", "metric=quarter", 3),
    ("cube2", "metric=half", 5),
]  # fmt: skip
STEPS = 150


def built(name: str, options: str = "", **more: str) -> Puzzle:
    pairs = dict(pair.split("=", 1) for pair in options.split()) | more
    if name in examples():
        name = f"examples/{name}"
    return with_own_file(PuzzleSpec(name, pairs)).build()


def walked(puzzle: Puzzle) -> list[Key]:
    """The configurations of a random walk, as far as it goes."""
    path = [puzzle.start]
    for word, _ in zip(random_words(3), range(STEPS), strict=False):
        found = puzzle.successors(path[-1])
        path.append(found[word % len(found)] if found else puzzle.start)
    return list(dict.fromkeys(path))


def cells_of(row: str) -> list[str]:
    return row.split() if " " in row else list(row)


def masked(text: str, kept: int, anything: str, seed: int) -> str:
    """A text of which one cell in `kept` is left."""
    words = random_words(seed)
    rows = [[cell if next(words) % kept == 0 else anything for cell in cells_of(row)] for row in text.split("/")]
    between = " " if " " in text else ""
    return "/".join(between.join(row) for row in rows)


def like(pattern: str, text: str, anything: str) -> bool:
    """Return whether a text matches a pattern, row by row."""
    rows, theirs = pattern.split("/"), text.split("/")
    pairs = [(cells_of(row), cells_of(other)) for row, other in zip(rows, theirs, strict=True) if row != anything]
    return all(
        len(row) == len(other) and all(one in (anything, cell) for one, cell in zip(row, other, strict=True))
        for row, other in pairs
    )


@usual(18, ("name", "options", "kept"), PATTERNS)
def test_a_pattern_holds_for_the_texts_that_are_like_it(name: str, options: str, kept: int) -> None:
    usual = built(name, options)
    sample = walked(usual)
    texts = [usual.render(key) for key in sample]
    anything = "?" if any("*" in text for text in texts) else "*"
    for seed, text in enumerate(texts[:: len(texts) // 2 + 1]):
        goal = masked(text, kept, anything, seed)
        if anything not in goal:
            continue
        puzzle = built(name, options, goal=goal)
        found = puzzle.is_goal(puzzle.keys(sample)).tolist()
        assert found == [like(goal, other, anything) for other in texts], goal
        assert any(found)
        assert puzzle.parameters == {**usual.parameters, "goal": goal}
        assert [puzzle.render(key) for key in puzzle.successors(sample[-1])] == [
            usual.render(key) for key in usual.successors(sample[-1])
        ]


@pytest.mark.parametrize("symmetry", ["on", "off"])
def test_of_merged_boards_of_peg_solitaire_any_image_will_do(symmetry: str) -> None:
    usual = built("peg-solitaire", f"symmetry={symmetry}")
    sample = walked(usual)
    goal = "##?.?##/##???##/???????/???.?**/???????/##???##/##???##"
    rows = [row.split("/") for row in map(usual.render, sample)]
    images = []
    for board in rows:
        turned = [board]
        for _ in range(3):
            turned.append(["".join(row) for row in zip(*turned[-1][::-1], strict=True)])
        images.append([*turned, *([line[::-1] for line in each] for each in turned)] if symmetry == "on" else [board])
    expected = [any(like(goal, "/".join(image), "?") for image in each) for each in images]
    puzzle = built("peg-solitaire", f"symmetry={symmetry}", goal=goal)
    assert puzzle.is_goal(puzzle.keys(sample)).tolist() == expected
    assert any(expected)


def shapes(text: str) -> tuple[set[frozenset[int]], set[int]]:
    """The cells of each piece, whatever its letter, and the empty ones."""
    cells = text.replace("/", "")
    places = {letter: frozenset(i for i, other in enumerate(cells) if other == letter) for letter in cells}
    blanks = places.pop(".", frozenset())
    places.pop("*", None)
    return set(places.values()), set(blanks)


@pytest.mark.parametrize(
    "goal",
    ["****/****/****/*zz*/*zz*", "**a*/**a*/****/****/****", "****/****/****/****/.**.", "***u/****/**e*/**e*/rr**",
     "****/****/****/****/****"],
)  # fmt: skip
def test_letters_mean_nothing_in_a_goal_of_klotski(goal: str) -> None:
    puzzle = built("klotski", goal=goal)
    keys = next(block for number, block in enumerate(puzzle.configurations()) if number == (10 if "z" in goal else 0))
    wanted = shapes(goal)
    texts = [shapes(puzzle.render(key)) for key in keys.tolist()[::7]]
    expected = [wanted[0] <= pieces and wanted[1] <= blanks for pieces, blanks in texts]
    assert puzzle.is_goal(keys[::7]).tolist() == expected
    assert any(expected)
    assert not puzzle.has_mirrors


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.ci_slow] if name == "cube2" else [])
        for name in (*PUZZLES, *examples())
        if name not in ("magic-star", "sliding")
    ],
)
def test_any_configuration_can_be_the_goal(name: str) -> None:
    usual = built(name)
    assert "goal" not in usual.parameters
    sample = walked(usual)
    goal = sample[len(sample) // 2]
    puzzle = built(name, goal=usual.render(goal))
    assert puzzle.is_goal(puzzle.keys(sample)).tolist() == [key == goal for key in sample]
    assert built(name, goal=f"{goal:#x}").parameters == puzzle.parameters


# Turns


@usual(1, ("name", "options"), [("cube2", "metric=half"), ("cube2", "metric=quarter"), ("pyraminx", "")])
def test_turns_lead_where_they_say(name: str, options: str) -> None:
    puzzle = built(name, options)
    path = [puzzle.start]
    for word, _ in zip(random_words(4), range(30), strict=False):
        found = puzzle.successors(path[-1])
        path.append(found[word % len(found)])
    turns = puzzle.describe_moves(path)
    for number in range(1, len(path)):
        assert puzzle.parse(" ".join(turns[:number])) == path[number]
    # Back again, in the notation of paths.
    assert puzzle.parse(" ".join([*turns, *puzzle.describe_moves(path[::-1])])) == puzzle.start
    assert built(name, options, goal=" ".join(turns)).parameters["goal"] == puzzle.render(path[-1])


# Texts of several lines
