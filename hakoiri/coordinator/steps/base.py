"""A finished run at hosts, among whose configurations another run's layers are made: it has the same ranges there."""

from collections.abc import Iterable

from hakoiri.coordinator.executors.hosts import HostLostError
from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.range_map import RangeMap
from hakoiri.storage.layers.digest import lanes_in, sum_lanes
from hakoiri.storage.layers.store import RunStore


class MovedError(Exception):
    """Ranges of the base run have moved: to where they are as `range_map`."""

    def __init__(self, range_map: RangeMap) -> None:
        super().__init__("ranges of the base run have moved")
        self.range_map = range_map


def require_base(keepers: Keepers, base: RunStore, parts: Iterable[str]) -> None:
    """Return if what hosts have of the run `base` in their ranges, by these digests, is all of it.

    `MovedError` if it is at other hosts, `HostLostError` if it is on its way there, or lost.
    """
    whole = sum_lanes(lanes_in(record.digest) for record in base.layer_records())
    if sum_lanes(map(lanes_in, parts)) == whole:
        return
    there, here = Keepers.of(base, keepers.pool).range_map, keepers.range_map
    if [there.hosts[owner] for owner in there.owners] != [here.hosts[owner] for owner in here.owners]:
        raise MovedError(there)
    raise HostLostError(f"some layers of run {base.directory.name} are at no host")
