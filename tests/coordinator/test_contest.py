"""The rules of the contest: ranks, points, bonuses and ties."""

from hakoiri.coordinator.plays.plan import Entered, points, ranks, standings


def test_a_problem_gives_11_points_down_to_1_and_a_bonus() -> None:
    plays = {f"team {number}": Entered(100 - number, 10, 1.0) for number in range(13)}
    for problem, bonus in ((1, 0), (2, 1), (3, 2)):
        assert [*points(problem, plays).values()] == [11 + bonus, *range(10, 0, -1), 0, 0]


def test_ties_go_by_moves_and_then_by_time_and_nobody_wins_without_a_play() -> None:
    plays = {
        "slow": Entered(9, 5, 2.0),
        "long": Entered(9, 6, 1.0),
        "quick": Entered(9, 5, 1.0),
        "none": Entered(0, 0, 0),
    }
    assert ranks(plays) == {"quick": 1, "slow": 2, "long": 3, "none": 4}
    assert points(2, plays) == {"quick": 12, "slow": 10, "long": 9, "none": 0}
    assert ranks({"one": Entered(9, 5, 1.0), "other": Entered(9, 5, 1.0), "less": Entered(8, 5, 1.0)}) == {
        "one": 1, "other": 1, "less": 3,
    }  # fmt: skip


def test_the_contest_is_won_by_points_then_scores_moves_and_time() -> None:
    def problems(one: Entered, other: Entered) -> dict[str, Entered]:
        return {"a": one, "b": other}

    # Each wins once; the bonus of problem 2 decides.
    first = {1: problems(Entered(9, 5, 1), Entered(8, 5, 1)), 2: problems(Entered(1, 5, 1), Entered(2, 5, 1))}
    assert [(each.team, each.place, each.points) for each in standings([first])] == [("b", 1, 22), ("a", 2, 21)]
    # Of two boards of problem 1 each wins one: the sum of scores decides, then the fewer moves.
    second = [{1: problems(Entered(9, 5, 1), Entered(8, 5, 1))}, {1: problems(Entered(3, 5, 1), Entered(5, 5, 1))}]
    assert [(each.team, each.place, each.points, each.score) for each in standings(second)] == [
        ("b", 1, 21, 13), ("a", 2, 21, 12),
    ]  # fmt: skip
    third = [{1: problems(Entered(9, 7, 1), Entered(8, 5, 1))}, {1: problems(Entered(8, 5, 1), Entered(9, 6, 1))}]
    assert [each.team for each in standings(third)] == ["b", "a"]
