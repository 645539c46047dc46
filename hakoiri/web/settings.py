"""The settings of a server; its serving processes get them by their environment."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import configured_files, files_variable
from hakoiri.reading import admitted
from hakoiri.worker.machine import REDIS

#: The environment variables of a serving process. The token has a separate one, which a user may set, too.
SETTINGS, TOKEN = "HAKOIRI_WEB", "HAKOIRI_TOKEN"
#: The process that started the others, which end with it.
SERVER = "HAKOIRI_SERVER"


@dataclass(frozen=True)
class Settings:
    """`data` is the directory of the runs; `names` are the allowed host names besides IP addresses.

    `token` is required of clients, unless it is empty. `redis` is a URL that may contain a password. `puzzles` are the
    words for user puzzles, ``PATH/FILE.py:NAME``, which clients may name without their path. `processes` is the number
    of serving processes, `questions` that of long questions that all of them answer at once. The seconds are for the
    body of a request and for its answer, those that a pass lasts, and those that a probe waits for another, and a long
    question for its turn.
    """

    data: Path
    port: int = 8080
    token: str = ""
    names: tuple[str, ...] = ("localhost",)
    redis: str | None = None
    memory: int | None = None
    puzzles: tuple[str, ...] = ()
    processes: int = 1
    questions: int = 2
    body_seconds: float = 20.0
    answer_seconds: float = 60.0
    pass_seconds: int = 7 * 86_400
    probe_seconds: float = 2.0
    turn_seconds: float = 10.0

    def to_environment(self) -> dict[str, str]:
        """Return the environment of a child process: all users of the machine can see arguments."""
        plain = asdict(self) | {"data": str(self.data)}
        return {TOKEN: plain.pop("token"), SETTINGS: json.dumps(plain)}

    @classmethod
    def from_environment(cls) -> Self:
        """Return the settings from the environment; the inverse of `to_environment`."""
        plain = json.loads(os.environ[SETTINGS])
        sequences = {name: tuple(plain[name]) for name in ("names", "puzzles")}
        return cls(**plain | sequences | {"data": Path(plain["data"]), "token": os.environ[TOKEN]})

    def for_children(self) -> dict[str, str]:
        """Return the environment of a process that drives or queries runs: it may load the named puzzles."""
        kept = {name: value for name, value in os.environ.items() if name not in (TOKEN, SETTINGS, REDIS)}
        named = [Path(word.rpartition(":")[0]).absolute() for word in self.puzzles]
        return kept | files_variable([*configured_files(), *named])

    def own_puzzles(self) -> dict[str, PuzzleSpec]:
        """Return the user puzzles by the names that clients may use; all named files are executed now."""
        return admitted(self.puzzles)
