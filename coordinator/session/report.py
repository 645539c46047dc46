"""What a verification looks at, and what it found."""

from dataclasses import dataclass, field
from typing import Literal

from coordinator.session.control import Control, Observer
from coordinator.session.session import ComputeContext

_MOST_FAULTS = 100

#: Where the faults come from: the puzzle's own rules, files that a repair mends, or neither.
Cause = Literal["puzzle", "damage", "unknown"]


@dataclass
class Report:
    """What was looked at, how often, and every fault found (the first hundred)."""

    checked: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _damaged: bool = False
    _mistaken: bool = False

    @property
    def ok(self) -> bool:
        """No fault was found."""
        return not self.faults

    @property
    def cause(self) -> Cause | None:
        """What to mend first; ``None`` if nothing is wrong."""
        if self.ok:
            return None
        return "puzzle" if self._mistaken else "damage" if self._damaged else "unknown"

    def count(self, what: str, number: int = 1) -> None:
        """Add to how many of these were looked at."""
        self.checked[what] = self.checked.get(what, 0) + number

    def fault(self, text: str) -> None:
        """Something is wrong that no repair would mend."""
        if len(self.faults) < _MOST_FAULTS and text not in self.faults:
            self.faults.append(text)

    def damage(self, text: str) -> None:
        """Something stored is wrong, and ``Job.repair`` mends it."""
        self._damaged = True
        self.fault(text)

    def mistake(self, text: str) -> None:
        """The puzzle contradicts itself: what it finds is wrong again however often it is computed."""
        self._mistaken = True
        self.fault(text)


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
