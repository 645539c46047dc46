"""Hiroi: magic stars."""

from campaigns.papers.claims import Claim, Paper, Work, field

STARS = Paper("stars", "Hiroi: Magic stars", "Three programs.", (
    Work("prune", (("run", "magic-star", "-o", "strategy=prune"),), (
        Claim("second program", "solutions", 960, field("solutions")),
    )),
))  # fmt: skip
