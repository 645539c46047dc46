"""Hakoiri-musume: the paper's packing, the whole space by every metric, mirror images, moves in words, refusals."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, groupby, pairwise

import numpy as np
import pytest

from hakoiri.errors import ConfigurationError, PuzzleError, PuzzleWarning
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from tests.support.published import HAKOIRI

METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
START_KEY = 0x17038BBB
SAMPLE = 1_000
BLANK_PAIRS = list(combinations(range(20), 2))
STEPS = {"up": -4, "down": 4, "left": -1, "right": 1}

Successors = Callable[[Key], list[Key]]


def pieces_by_layout(key: Key) -> list[list[int]]:
    """The cells of the six larger pieces and of the two blanks, read off the paper's layout bit by bit."""
    daughter, horizontal, *verticals = (key >> shift & 15 for shift in (28, 24, 20, 16, 12, 8))
    assert daughter < 12
    assert horizontal < 15
    assert all(one < other for one, other in pairwise(verticals))
    assert key & 255 < 190
    corner, left = daughter // 3 * 4 + daughter % 3, horizontal // 3 * 4 + horizontal % 3
    larger = [[corner, corner + 1, corner + 4, corner + 5], [left, left + 1], *([top, top + 4] for top in verticals)]
    return [*larger, list(BLANK_PAIRS[key & 255])]


def board_by_layout(key: Key) -> str:
    """The canonical text of a key, from nothing but its layout."""
    *larger, blanks = pieces_by_layout(key)
    covered = [cell for cells in [*larger, blanks] for cell in cells]
    assert len(set(covered)) == len(covered)
    owners = {cell: cells[0] for cells in larger for cell in cells} | dict.fromkeys(blanks, -1)
    return relabelled([owners.get(cell, cell) for cell in range(20)])


def relabelled(owners: list[int]) -> str:
    """Board text with letters in reading order; an owner is any number of a piece, -1 a blank."""
    letters: dict[int, str] = {-1: "."}
    text = "".join(letters.setdefault(owner, chr(ord("A") + len(letters) - 1)) for owner in owners)
    return "/".join(text[row * 4 : row * 4 + 4] for row in range(5))


def replayed(text: str, move: str) -> str:
    """The board after a move in words such as ``"I right, down 2"``; every single step must lead to free cells."""
    letter, _, words = move.partition(" ")
    board = text.replace("/", "")
    owners = [-1 if here == "." else ord(here) for here in board]
    cells = [cell for cell, here in enumerate(board) if here == letter]
    for word in words.split(", "):
        name, _, times = word.partition(" ")
        for _ in range(int(times or 1)):
            targets = [cell + STEPS[name] for cell in cells]
            assert all(0 <= target < 20 and owners[target] in (-1, ord(letter)) for target in targets), move
            if name in ("left", "right"):
                assert [target // 4 for target in targets] == [cell // 4 for cell in cells], move
            for cell in cells:
                owners[cell] = -1
            for target in targets:
                owners[target] = ord(letter)
            cells = targets
    return relabelled(owners)


def whatever_letters(text: str) -> str:
    return relabelled([-1 if here == "." else ord(here) for here in text.replace("/", "")])


def mirrored(keys: Keys) -> Keys:
    """Left-right mirror images, from nothing but the layout."""
    places = keys.astype(np.int64)
    daughter, horizontal = places >> 28, places >> 24 & 15
    verticals = np.stack([places >> shift & 15 for shift in (20, 16, 12, 8)])
    verticals = np.sort(verticals // 4 * 4 + 3 - verticals % 4, axis=0)
    flipped = [sorted(cell // 4 * 4 + 3 - cell % 4 for cell in pair) for pair in BLANK_PAIRS]
    blanks = np.array([BLANK_PAIRS.index((one, other)) for one, other in flipped])[places & 255]
    image = (daughter // 3 * 3 + 2 - daughter % 3) << 28 | (horizontal // 3 * 3 + 2 - horizontal % 3) << 24
    for shift, vertical in zip((20, 16, 12, 8), verticals, strict=True):
        image |= vertical << shift
    return np.asarray(image | blanks, dtype=np.uint32)


def arcs(puzzle: Puzzle, keys: Keys) -> tuple[Keys, Keys]:
    successors, counts = puzzle.expand(keys)
    return np.repeat(keys, counts), successors


@pytest.mark.ci_slow
def test_layout_is_the_papers_and_text_agrees(all_keys: Keys) -> None:
    puzzle = Klotski()
    for key in all_keys[::16].tolist():
        text = puzzle.render(key)
        assert whatever_letters(text) == board_by_layout(key)
        assert puzzle.parse(text) == puzzle.pack(puzzle.unpack(key)) == key


def test_start() -> None:
    puzzle = Klotski()
    assert puzzle.start == puzzle.parse(START) == puzzle.parse(f" {START_KEY:#x}\n") == puzzle.parse("0X17038BBB")
    assert puzzle.start == START_KEY
    assert puzzle.render(puzzle.start) == START
    assert Klotski(start="BAAC/BAAC/DEEF/DGHF/I..J").render(Klotski(start=START).start) == "BAAC/BAAC/DEEF/DGHF/I..J"
    assert Klotski().goal_text() == "B (2x2) at row 4 column 2"
    with pytest.warns(PuzzleWarning, match="E means G or H or I or J"):
        chosen = PuzzleSpec("klotski", {"goal": "****/****/****/****/.**E"}).build()
    assert chosen.goal_text() == "any of G H I J (1x1) at row 5 column 4"


@pytest.mark.parametrize("text", ["zyyx/zyyx/wvvu/wtsu/r..q", "0112/0112/3445/3675/8..9", "ABBC/ABBC/JEEF/JGHF/I..D"])
def test_any_letters_are_read_and_canonical_ones_rendered(text: str) -> None:
    puzzle = Klotski()
    assert puzzle.render(puzzle.parse(text)) == START


def test_goal_is_the_daughter_in_the_middle_of_the_bottom(all_keys: Keys) -> None:
    expected = [pieces_by_layout(key)[0] == [13, 14, 17, 18] for key in all_keys.tolist()]
    assert Klotski().is_goal(all_keys).tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_expand_agrees_with_plain_python_on_the_whole_space(metric: str, all_keys: Keys) -> None:
    puzzle = Klotski({"metric": metric})
    found, counts = puzzle.expand(all_keys)
    successors = map(puzzle.successors, all_keys.tolist())
    for part, expected in zip(np.split(found, np.cumsum(counts)[:-1]), successors, strict=True):
        assert sorted(part.tolist()) == sorted(expected)


def test_number_of_unit_moves(all_keys: Keys) -> None:
    assert len(Klotski().expand(all_keys).successors) == 2 * HAKOIRI["moves"]


def test_mirrored_layout_is_the_text_read_backwards(all_keys: Keys) -> None:
    puzzle = Klotski()
    sample = np.random.default_rng(2).choice(all_keys, SAMPLE)
    for key, image in zip(sample.tolist(), mirrored(sample).tolist(), strict=True):
        assert puzzle.parse("/".join(row[::-1] for row in puzzle.render(key).split("/"))) == image


def test_merged_mirrors_are_the_puzzle_of_classes(all_keys: Keys) -> None:
    merged = PuzzleSpec("klotski", merge_mirrors=True).build()
    assert isinstance(merged, MergedMirrors)
    classes = np.concatenate(list(merged.configurations()))
    assert len(classes) == HAKOIRI["configurations, mirrors merged"]
    assert (classes == np.unique(np.minimum(all_keys, mirrored(all_keys)))).all()


def test_merged_mirrors_read_either_image() -> None:
    merged = PuzzleSpec("klotski", merge_mirrors=True).build()
    one, other = "ABBC/ABBC/DEEF/DGHF/.I.J", "ABBC/ABBC/DEEF/DGHF/I.J."
    assert merged.parse(one) == merged.parse(other) == min(Klotski().parse(one), Klotski().parse(other))
    assert PuzzleSpec("klotski", start=other, merge_mirrors=True).build().start == merged.parse(one)


@pytest.mark.parametrize(
    ("metric", "moves"),
    [
        ("unit", {"G down", "H down", "I right", "J left"}),
        ("straight", {"G down", "H down", "I right", "J left", "I right 2", "J left 2"}),
        ("finger", {"G down", "H down", "I right", "J left", "I right 2", "J left 2", "G down, right", "H down, left"}),
    ],
)
def test_moves_from_the_start_in_words(metric: str, moves: set[str]) -> None:
    puzzle = Klotski({"metric": metric})
    described = [puzzle.describe_move(puzzle.start, after) for after in puzzle.successors(puzzle.start)]
    assert Counter(described) == Counter(moves)


@pytest.mark.parametrize("metric", METRICS)
def test_described_moves_lead_where_they_say(metric: str, all_keys: Keys) -> None:
    puzzle = Klotski({"metric": metric})
    sample = np.random.default_rng(4).choice(all_keys, 300)
    for before, after in zip(*(batch.tolist() for batch in arcs(puzzle, sample)), strict=True):
        move = puzzle.describe_move(before, after)
        assert replayed(puzzle.render(before), move) == whatever_letters(puzzle.render(after))
        steps = [word for word, _ in groupby(move.split(" ", 1)[1].split(", "))]
        assert metric == "finger" or len(steps) == 1
        assert metric != "unit" or steps[0] in STEPS


def test_only_the_configurations_are_keys(all_keys: Keys) -> None:
    puzzle, known, rng = Klotski(), set(all_keys.tolist()), np.random.default_rng(5)
    one_bit = rng.choice(all_keys, SAMPLE) ^ 1 << rng.integers(0, 32, SAMPLE)
    one_nibble = rng.choice(all_keys, SAMPLE) ^ rng.integers(1, 16, SAMPLE) << 4 * rng.integers(0, 8, SAMPLE)
    anywhere = rng.integers(0, 1 << 32, SAMPLE)
    accepted = 0
    for key in np.concatenate([one_bit, one_nibble, anywhere]).tolist():
        if key in known:
            puzzle.check_key(key)
            accepted += 1
        else:
            with pytest.raises(ConfigurationError):
                puzzle.check_key(key)
    assert accepted > 0


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        (PuzzleSpec("klotski", {"metric": "diagonal"}), ["metric=diagonal", "unit|straight|finger"]),
        (PuzzleSpec("klotski", {"colour": "red"}), ["'colour'", "metric"]),
        (PuzzleSpec("klotsky"), ["'klotsky'", "klotski"]),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(spec: PuzzleSpec, parts: list[str]) -> None:
    with pytest.raises(PuzzleError) as refusal:
        spec.build()
    assert [part for part in parts if part not in str(refusal.value)] == []
    assert "\n" not in str(refusal.value)


def as_set(sources: Keys, targets: Keys) -> Keys:
    return np.sort(sources.astype(np.uint64) << np.uint64(32) | targets)


def test_metrics_contain_one_another(all_keys: Keys) -> None:
    unit, straight, finger = (as_set(*arcs(Klotski({"metric": metric}), all_keys)) for metric in METRICS)
    assert np.isin(unit, straight, assume_unique=True).all()
    assert np.isin(straight, finger, assume_unique=True).all()
    assert len(unit) < len(straight) < len(finger)


@pytest.mark.parametrize("metric", METRICS)
def test_mirror_is_an_automorphism_of_the_moves(metric: str, all_keys: Keys) -> None:
    sources, targets = arcs(Klotski({"metric": metric}), all_keys)
    assert (as_set(mirrored(sources), mirrored(targets)) == as_set(sources, targets)).all()
