"""The commands ``run``, ``enqueue`` and ``resume``: create a run and drive it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from hakoiri.cli import options as shared
from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.driving import drive_and_report, start_run
from hakoiri.cli.groups import LayersHere, QueuedLayers
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.reading import parse_options, read_board
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Request
    from hakoiri.puzzles.registry import PuzzleSpec

WholeOption = Annotated[
    bool, flag("--whole", "Search the whole space: every configuration, component and diameter (a census).")
]
DiametersOption = Annotated[
    str | None,
    option("--diameters", "largest=K|below=N|none",
           "With --whole: measure only the K largest components, those below N configurations, or none.", usual="all"),
]  # fmt: skip
ByOption = Annotated[
    str | None,
    option("--by", "joins|layers",
           "With --whole: find the components by joining the ends of all moves, or by a search layer by layer in each.",
           usual="joins, which is faster"),
]  # fmt: skip
UntilGoalOption = Annotated[bool, flag("--until-goal", "Stop after the layer of the nearest goal.")]
LayersOption = Annotated[
    int | None, option("--layers", "N", "Stop after layer N, which is N moves from the start.", min=0)
]
MergeMirrorsOption = Annotated[bool, flag("--merge-mirrors", "Count mirror images as one configuration.")]
NameOption = Annotated[str | None, option("--name", "NAME", "Name of the run.", usual="six digits and the puzzle")]
ReuseOption = Annotated[bool, flag("--reuse", "Use a complete run with the same parameters, if there is one.")]


@dataclass(frozen=True)
class Wanted:
    """Options that determine the run."""

    puzzle: shared.PuzzleArgument
    options: shared.PuzzleOptions = None
    whole: WholeOption = False
    diameters: DiametersOption = None
    by: ByOption = None
    until_goal: UntilGoalOption = False
    layers: LayersOption = None
    merge_mirrors: MergeMirrorsOption = False
    start: shared.FromOption = None
    goal: shared.GoalOption = None
    name: NameOption = None
    reuse: ReuseOption = False

    def request(self) -> tuple[str | None, "Request"]:
        """Return the kind of run, ``None`` for the puzzle's usual one, and the request."""
        from hakoiri.coordinator.session.job import Job

        spec = shared.spec_of(self.puzzle, self.options, self.start, self.goal, self.merge_mirrors)
        if self.whole:
            if self.layers is not None:
                raise PuzzleError("a census has no start and so no layers; leave out --layers")
            from hakoiri.coordinator.graphs.job import CensusJob

            return "census", CensusJob.parse_request(
                spec, until_goal=self.until_goal, diameters=self.diameters or "all", by=self.by or "joins"
            )
        for name, value in (("--diameters", self.diameters), ("--by", self.by)):
            if value is not None:
                raise PuzzleError(f"{name} needs --whole")
        return None, Job.parse_request(spec, until_goal=self.until_goal, layers=self.layers)


@command_line("run klotski --whole")
def run(
    wanted: Wanted, search: LayersHere, wide: shared.WideOption = False,
    dry_run: Annotated[bool, flag("--dry-run", "Create no run; print its size, memory, disk and time.")]
    = False,
) -> None:  # fmt: skip
    """Find every configuration of a puzzle, in this process.

    Press Ctrl-C to stop; 'hakoiri resume RUN' continues where it stopped.
    """
    kind, asked = wanted.request()
    if dry_run:
        _print_needs(asked.spec, search, wanted.whole)
        return
    start_run(asked, kind, search, name=wanted.name, reuse=wanted.reuse, wide=wide)


def _print_needs(spec: "PuzzleSpec", search: LayersHere, whole: bool) -> None:
    """Print what a short search from the start, or of the `whole` space, finds, and what a run for all takes."""
    from hakoiri.coordinator.errors import nearest_goal
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.render.progress import clock
    from hakoiri.render.tables import facts, print_json, stdout
    from hakoiri.rows.probes import probe_row

    row = probe_row(spec.build(), search.resources, data_directory(search.data), whole)
    if search.json:
        print_json(row)
        return
    known = row["expected"] is not None
    free = f"{_size(row['free'])} are free"
    told = {
        "puzzle": row["puzzle"],
        "start": None if whole else row["start"],
        "configurations": row["expected"] if known else f"more than {row['configurations']:,}, how many is not known",
        "goal": row["goal"] or None,
        "nearest goal": None if whole else nearest_goal(row, row["goal"] is not None),
        "memory": f"{_size(row['memory'])} at most",
        "disk": f"{_size(row['disk'])}, {free}" if known else free,
        "time": f"{clock(row['seconds'])} by one thread" if known else None,
    }  # fmt: skip
    stdout().print(facts(told))


def _size(value: int) -> str:
    return f"{value / 1e9:,.1f} GB" if value >= 1e9 else f"{value / 1e6:,.1f} MB"


@command_line("enqueue klotski -o metric=finger --redis redis://127.0.0.1:6379/0")
def enqueue(wanted: Wanted, search: QueuedLayers) -> None:
    """Queue a run for the coordinator and return at once."""
    kind, asked = wanted.request()
    start_run(asked, kind, search, queue=True, name=wanted.name, reuse=wanted.reuse)


@command_line("resume last")
def resume(
    name: shared.RunArgument,
    options: shared.PuzzleOptions = None,
    puzzle: Annotated[str | None, option("--puzzle", "PUZZLE", "Refuse unless the run is of this puzzle.")] = None,
    start: Annotated[str | None, option("--from", "CONF|FILE", "Refuse unless the run started here.")] = None,
    repair: Annotated[bool, flag("--repair", "Compute damaged layers again and check their digests.")] = False,
    wide: shared.WideOption = False,
    *,
    search: LayersHere,
) -> None:
    """Continue a stopped run from its last commit.

    With -o, --from or --puzzle, refuses a run that has another option, start or puzzle.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.runs.catalogue import data_directory, find_run
    from hakoiri.coordinator.runs.create import require_puzzle, require_same
    from hakoiri.storage.ledger.ledger import Ledger

    directory = find_run(data_directory(search.data), name)
    with Ledger(directory) as ledger:
        manifest, was_complete = ledger.manifest, ledger.state.status == "complete"
    if puzzle is not None:
        require_puzzle(manifest, shared.own_spec(puzzle))
    admit(directory)
    require_same(manifest, parse_options(options or []), None if start is None else read_board(start))
    if was_complete:
        stderr().print(f"{directory.name} was complete already")
    drive_and_report(directory, search.resources, search.json, search.data, repair, wide=wide)
