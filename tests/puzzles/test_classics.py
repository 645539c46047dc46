"""The classics: their records computed, and their names as starts."""

import re

import pytest

from hakoiri.cli.options import spec_of
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.classics import CLASSICS
from hakoiri.worker.layers.kernels import layers_within, merge
from tests.support.published import HAKOIRI
from tests.support.seeds import usual

#: More than the largest space of a classic that is searched.
CAP = 4_000_000
#: The starts that are farthest by some metrics, and how many there are.
FARTHEST = {
    "eight-puzzle": (["single"], 2), "pyraminx-farthest": ([""], 32), "six-pancakes": ([""], 2),
    "pocket-cube": (["half", "quarter"], 108),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CLASSICS.keys() - {"central-game", "pocket-cube", "pyraminx-farthest"}))
def test_the_fewest_moves_are_those_of_a_search(name: str) -> None:
    for metric, moves in CLASSICS[name].moves.items():
        options = [] if metric == "moves" else [f"metric={metric}"]
        puzzle = spec_of(CLASSICS[name].puzzle, options, name).build()
        layers = [puzzle.keys([puzzle.start])]
        while not puzzle.is_goal(layers[-1]).any():
            layers.append(merge([puzzle.expand(layers[-1]).successors], layers[-2:]))
        assert len(layers) - 1 == moves, metric


@usual(3, "name", FARTHEST)
def test_the_farthest_positions_are_in_the_last_layer_from_the_goal(name: str) -> None:
    metrics, count = FARTHEST[name]
    lasts = []
    for metric in metrics:
        puzzle = spec_of(CLASSICS[name].puzzle, [f"metric={metric}"] if metric else [], name).build()
        layers, _ = layers_within(puzzle, puzzle.keys([puzzle.usual_start()]), CAP)
        assert puzzle.is_goal(layers[0]).all() and puzzle.start in layers[-1]
        assert len(layers) - 1 == CLASSICS[name].moves[metric or "moves"]
        # Metrics of one puzzle may number its configurations in different ways.
        lasts.append({puzzle.render(key) for key in ints(layers[-1])})
    assert len(set.intersection(*lasts)) == count


def test_every_number_of_a_source_is_a_record() -> None:
    for classic in CLASSICS.values():
        _, _, said = classic.source.rpartition(": ")
        assert {int(number) for number in said.split(", ")} <= set(classic.moves.values()), classic.title


def test_hakoiri_musume_is_the_puzzle_of_the_paper() -> None:
    assert CLASSICS["ane-rouge"].start == HAKOIRI["start"]
    assert CLASSICS["ane-rouge"].moves == HAKOIRI["solution by metric"]


def test_a_name_stands_for_board_and_options_and_own_options_come_first() -> None:
    pennant = CLASSICS["pennant"]
    assert spec_of("sliding", None, "pennant") == spec_of("sliding", ["goal=A@4,1"], pennant.start)
    assert spec_of("sliding", None, "pennant", "A@1,3").options == {"goal": "A@1,3"}
    assert re.fullmatch("[a-z0-9-]+", "".join(CLASSICS))
    with pytest.raises(PuzzleError, match="cannot be combined"):
        spec_of("sliding", ["goal=A@4,1"], "pennant", "A@1,3")
