"""Kills of those who farm a frontier, or are farmed: only blows within the run, at a layer of workers, are counted."""

from collections.abc import Callable
from typing import ClassVar

from campaigns.mayhem.kills import Kills
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import Measure, Outcome
from campaigns.mayhem.works import FOR_WORKERS, the_run
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import LAYERS
from tests.support.commands import Running

#: The first layers are small, and made here before a worker is asked; the last one ends the run.
_FIRST, _LAST = 3, 4


class FarmingScene(Scene):
    """A scene whose blows fall when a random layer is committed; it notes at which layers they fell."""

    def __init__(self, *given: object, **named: object) -> None:
        super().__init__(*given, **named)  # type: ignore[arg-type]
        #: The layer that was under way at each blow.
        self._hit: list[int] = []
        self._layers = sum(name.startswith(repr(LAYERS)) for name in self.expected)

    def let_work(self, running: Running, seconds: float) -> bool:
        """Wait for a layer behind the last one that was hit."""
        first = max([_FIRST, *(hit + 1 for hit in self._hit)])
        return self.let_deepen(running, range(first, max(first + 1, self._layers - _LAST)))

    def struck(self, began: float, blow: Callable[[], object]) -> None:
        self._note()
        super().struck(began, blow)

    def survived(self, blow: Callable[[], object], driver: Callable[[], Running]) -> None:
        self._note()
        super().survived(blow, driver)

    def _note(self) -> None:
        state = self.standing().state
        if state.status == "running":
            self._hit.append(state.depth + 1)

    def judge(self) -> Outcome:
        """Judge as ever, and count the blows whose layer workers have expanded, by its own record."""
        outcome = super().judge()
        with Ledger(the_run(self.work, self.hakoiri.data)) as ledger:
            last = ledger.state.depth
            work = [ledger.layer_record(depth).work for depth in range(last + 1)]
            # The layer under way at the blow may have been made at home, after the loss of everybody.
            farmed = [depth for depth in self._hit if any(work[depth - 1]) or any(work[min(depth, last)])]
        outcome.figures["farmed"] = len(farmed)
        return outcome


class Farmed(Disturbed):
    """A trial is a search by layers of which workers do the chunks, and one to three blows to those who take part."""

    name, usual, short = "farmed", 220, (0, 1)
    headings = ("who is killed", "run")
    crossed = "farmed"
    scene = FarmingScene
    by_workers = Kills.by_workers
    ways: ClassVar = {name: Kills.ways[name] for name in Kills.by_workers}
    works: ClassVar = {
        name: FOR_WORKERS[name] for name in ("explore", "explore, mirrors merged", "directed", "hardest")
    }
    measures: ClassVar = {"farmed": Measure("kills at a farmed frontier")} | Kills.measures
    text = """\
Each trial is a search by layers whose chunks RQ workers expand (`--farm always`), and one to three blows as above. A
blow falls when a random layer has been committed. It counts *at a farmed frontier* if the run was running at that
moment, and workers had expanded for the layer then under way, or for the one before, as its record says.
The judgement is as above."""
