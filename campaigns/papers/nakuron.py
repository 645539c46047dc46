"""Nakuron."""

from campaigns.papers.claims import Claim, Paper, Work, field

NAKURON = Paper(
    "nakuron",
    "Supercomputing Contest 2011: Nakuron",
    "The contest.",
    (
        Work(
            "figure 2",
            (("replay", "nakuron", "examples/nakuron.txt", "1"),),
            (Claim("figure 1 and 2", "points of the first tilt to the right", 7, field("score")),),
        ),
    ),
)
