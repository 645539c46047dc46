"""The columns of a kind of run (`Job.facts`) as names and values for people."""

from string import Formatter
from typing import TYPE_CHECKING, Any

from hakoiri.errors import counted

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job

#: How a strategy searches.
ORDERS = {"bfs": "breadth first", "dfs": "depth first"}


class _Columns(Formatter):
    """Formats columns by fields of a summary and `job`, or else by attributes of the job.

    Besides the usual ones there are the specifications ``order``, ``rows`` and the plural of a noun to count.
    """

    def __init__(self, job: "Job", summary: dict[str, Any]) -> None:
        self._job, self._fields = job, summary | {"job": job}

    def get_value(self, key: int | str, *_: Any) -> Any:
        name = str(key)
        return self._fields[name] if name in self._fields else getattr(self._job, name, None)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "order":
            return ORDERS[value]
        if format_spec == "rows":
            return str(value.replace("/", "\n"))
        return counted(value, format_spec) if format_spec.isalpha() else super().format_field(value, format_spec)

    def value(self, what: str) -> Any:
        """Return the value of a column; ``None`` if a part of it is unknown."""
        if "{" in what:
            try:
                return self.format(what)
            except TypeError:
                return None
        found = self.get_value(what)
        return "\n".join(found) if isinstance(found, list) else None if found == "" else found


def facts_of(job: "Job", summary: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a run by label; ``None`` stands for an unknown one."""
    columns, found = _Columns(job, summary), {}
    for each in job.facts:
        label, _, what = each.rpartition(": ")
        found[columns.format((label or what).replace("_", " "))] = columns.value(what)
    return found
