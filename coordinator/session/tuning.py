"""The times and sizes by which the engine steers itself: none of them changes a result, and only tests set them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Times are in seconds."""

    #: A chunk whose worker has not answered for so long goes to another worker as well, then after twice as long.
    deadline: float = 60.0
    #: What nobody fetches or renews is gone from Redis after this: a coordinator that died leaves nothing for long.
    keep: int = 900
    #: How long Redis may be away before the run is left as interrupted.
    patience: float = 120.0
    #: A chunk lost so often seems to kill workers, and would kill this process too.
    most_losses: int = 25


DEFAULT = Tuning()
