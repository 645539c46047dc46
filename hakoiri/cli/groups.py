"""Groups of options shared by commands: each is a dataclass, and the type of one parameter of their functions.

`hakoiri.cli.commands.ungrouped` gives typer a function with the options of the group in place of that parameter.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hakoiri.cli import options as shared
from hakoiri.cli.commands import TEAM, option

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.coordinator.session.resources import Resources

ChunkOption = Annotated[
    int | None,
    option("--chunk", "N", "Configurations per chunk.", min=1, rich_help_panel=TEAM, usual="fitted to the work"),
]
FarmOption = Annotated[
    Any,
    option("--farm", "auto|always|never|N",
           "With --redis: send chunks to workers if that is faster than the work on them; always; never; or always "
           "those of layers of N or more configurations.",
           parser=shared.parse_farm, rich_help_panel=TEAM, usual="auto"),
]  # fmt: skip
DeadlineOption = Annotated[
    float | None,
    option("--deadline", "SECONDS",
           "With --redis: if a chunk takes longer than this, send it to a second worker too.", min=0.1,
           rich_help_panel=TEAM, usual="60; deals 900"),
]  # fmt: skip
AuditOption = Annotated[
    float | None,
    option("--audit", "SHARE",
           "With --redis: check this share of the workers' chunks by computing them again here, e.g. 0.1%.",
           parser=shared.parse_share, rich_help_panel=TEAM, usual="none"),
]  # fmt: skip


@dataclass(frozen=True)
class Asking:
    """Options of commands that query a run."""

    memory: shared.MemoryOption = None
    puzzle: shared.OwnFileOption = None
    data: shared.DataOption = None
    json: shared.JsonOption = False

    def open(self, name: str) -> "Run":
        """Open the run of this name, to be queried within the given memory."""
        return opened(name, self.data, self.memory, self.puzzle)


@dataclass(frozen=True)
class Driving:
    """Options of commands that drive or queue a run."""

    data: shared.DataOption = None
    redis: shared.RedisOption = None
    memory: shared.MemoryOption = None
    json: shared.JsonOption = False

    @property
    def resources(self) -> "Resources":
        from hakoiri.coordinator.session.resources import Resources

        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("data", "json")}
        return Resources(**given | {"redis": shared.redis_url(self.redis)})


@dataclass(frozen=True)
class Work(Driving):
    """Options of work that divides itself into chunks."""

    workers: shared.WorkersOption = None


@dataclass(frozen=True)
class Layers(Driving):
    """Options of a search by layers that a coordinator drives."""

    chunk: ChunkOption = None
    farm: FarmOption = None
    deadline: DeadlineOption = None
    audit: AuditOption = None


@dataclass(frozen=True)
class QueuedLayers(Layers):
    """Options of a queued search by layers that hosts may keep."""

    hosts: shared.HostsOption = None
    copies: shared.CopiesOption = None


@dataclass(frozen=True)
class LayersHere(QueuedLayers, Work):
    """Options of a search by layers that this process drives."""


def opened(
    name: str, data: Path | None, memory: int | None = None, puzzle: str | None = None, redis: str | None = None
) -> "Run":  # fmt: skip
    """Open a run to be queried within `memory` bytes; `puzzle` names the file of its user puzzle.

    Its hosts are reached over the Redis at the URL `redis`, else at HAKOIRI_REDIS.
    """
    from hakoiri.api import open_run
    from hakoiri.coordinator.session.resources import Resources

    return open_run(name, data, Resources(memory=memory, redis=redis), puzzle)
