"""Ishihata: Gap."""

from campaigns.papers.claims import Claim, Paper, Work

_FIGURE_1 = "42 21 13 22 32 26 23/16 43 47 14 24 34 36/46 17 27 31 11 37 12/35 41 44 25 15 33 45"

GAP = Paper(
    "gap",
    "Ishihata: Gap",
    "Problem F of the Aizu contest of 2003: the fewest moves of a deal, or -1.",
    (
        Work(
            "figure 1",
            (
                ("solve", "gap", "--strategy", "bfs", _FIGURE_1),
                ("solve", "gap", "--strategy", "dfs", _FIGURE_1),
                ("show", _FIGURE_1, "--puzzle", "gap"),
            ),
            (
                Claim("figure 2", "the bottom row's gap takes 36", True, lambda answers: any("36" in f"{move}" for move in answers[2]["moves"])),
                Claim("comparison", "both programs generate as many positions where there is no solution", True, lambda answers: answers[0]["deals"][0]["positions"] == answers[1]["deals"][0]["positions"]),
            ),
        ),
    ),
)  # fmt: skip
