"""The questions that a run can answer, each beside the function that refuses it to other runs."""

from collections.abc import Callable
from functools import partial

from hakoiri import guest_table
from hakoiri.errors import HakoiriError
from hakoiri.loading import loaded
from hakoiri.render.files import require_file
from hakoiri.rows.positions import require_positions
from hakoiri.run.components import require_listed
from hakoiri.run.goals import require_goals
from hakoiri.run.maps import mapped_component
from hakoiri.run.opened import OpenRun


def _by_guest(name: str, run: OpenRun) -> None:
    loaded(guest_table.REFUSALS[name])(run)


_FILES = ("csv", "parquet", "npz", "graphml", "html", "pdf")
#: Parts of the address of a run, such as ``hardest`` of ``/api/runs/{run}/hardest`` -> what raises without an answer.
_REFUSALS: dict[str, Callable[[OpenRun], object]] = {
    "positions": require_positions,
    "layer": OpenRun.require_stored,
    "sample": OpenRun.require_stored,
    "hardest": require_goals,
    "components": require_listed,
    "map": mapped_component,
    **{name: partial(_by_guest, name) for name in guest_table.REFUSALS},
    **{f"export.{ending}": partial(require_file, ending=f".{ending}") for ending in _FILES},
}


def abilities(run: OpenRun) -> list[str]:
    """Return the questions that a run, as it is now, has an answer to: none yet without a layer or row.

    Costs a few reads of the store.
    """
    if run.kind.has_graph and run.depth < 0:
        return []
    return [name for name, refuse in _REFUSALS.items() if _answers(refuse, run)]


def _answers(refuse: Callable[[OpenRun], object], run: OpenRun) -> bool:
    try:
        refuse(run)
    except HakoiriError:
        return False
    return True
