"""Parameters that several kinds of run have."""

from typing import Any

from hakoiri.parameters import parameter
from hakoiri.puzzles.options import MOST_SEED

#: The usual seconds of a hunt and of a generator.
SECONDS = 600.0


def seed_of(what: str) -> Any:
    """Return the seed of something."""
    return parameter("--seed", "S", f"Seed of {what}.", default=1, min=0, max=MOST_SEED)


def cap_of(text: str, default: int, typed: str) -> Any:
    """Return the most positions of a search, with its help and its default, also as a user types it."""
    return parameter("--cap", "POSITIONS", text, default=default, typed=typed, amount="count")


def time_of(form: int, default: float = SECONDS, typed: str = "10m") -> Any:
    """Return the time of a call, with what a form begins with, and its default, also as a user types it."""
    text = "Time for this call: 10m, 90s or 1h."
    return parameter("--time", "TIME", text, default=default, typed=typed, amount="time", limit=True, form=form)
