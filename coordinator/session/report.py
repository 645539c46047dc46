"""What a verification looks at, and what it found."""

from dataclasses import dataclass, field

from coordinator.session.control import Control, Observer
from coordinator.session.session import ComputeContext

_MOST_FAULTS = 100


@dataclass
class Report:
    """What was looked at, how often, and every fault found (the first hundred)."""

    checked: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No fault was found."""
        return not self.faults

    def count(self, what: str, number: int = 1) -> None:
        """Add to how many of these were looked at."""
        self.checked[what] = self.checked.get(what, 0) + number

    def fault(self, text: str) -> None:
        """Something is wrong."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(text)


@dataclass(frozen=True)
class Check:
    """A verification under way: `full` looks at everything instead of a sample, and faults go into `report`.

    `context` has the memory that it may take.
    """

    full: bool
    report: Report
    context: ComputeContext
    control: Control
    observer: Observer
