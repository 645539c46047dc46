"""The commands ``study deals``, ``study boards`` and ``study sizes``: statistics of deals, boards and sizes."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.deals.solving import GameArgument
from hakoiri.cli.driving import refuse_with_queue, start_run
from hakoiri.cli.groups import Work
from hakoiri.cli.options import QueueOption, own_spec, parse_count, parse_sizes, seed_option
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.deals.study import StudyDeals
    from hakoiri.coordinator.session.session import Control

#: Options of the former command ``study PUZZLE``; ``--n`` belonged to studies of sizes.
_OLD_SIZES = re.compile(r"--(columns|ranks|n)(?==|$)")


class Studies(TyperGroup):
    """The kinds of study; a puzzle in their place is refused with the intended command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command and its arguments; raise `PuzzleError` for ``study PUZZLE``."""
        name = args[0]
        if not ctx.resilient_parsing and name not in self.commands and (name in PUZZLES or ".py:" in name):
            kind = "sizes" if any(re.match("--n(=|$)", word) for word in args) else "deals"
            command = shlex.join(
                ["hakoiri", "study", kind, name, *(_OLD_SIZES.sub("--sizes", each) for each in args[1:])]
            )
            raise PuzzleError(f"'study {name}' is not a command; use: {command}")
        return super().resolve_command(ctx, args)


GROUP = typer.Typer(
    cls=Studies,
    help="Study many deals, all boards of some pieces, or many sizes.",
    epilog="Example: hakoiri study deals gap --sizes 3..6 --deals 100",
    no_args_is_help=True,
)


@command_line("study deals superpuzz --sizes 4..6 --deals 1000 --seed 1", words=2)
def deals(
    puzzle: GameArgument,
    sizes: Annotated[str, option("--sizes", "SIZES", "Ranks of gap, columns of superpuzz: 4..8, 6 or 4,6,8.")],
    deals: Annotated[int, option("--deals", "N", "Number of deals of each size.", min=1, max=MOST_SEED)] = 1000,
    seed: Annotated[int, seed_option("the random deals")] = 1,
    strategy: Annotated[str, option("--strategy", "bfs|dfs", "Search breadth first or depth first.")] = "bfs",
    cap: Annotated[
        int, option("--cap", "POSITIONS", "Give up a deal after this many positions: 500k, 10M.", parser=parse_count)
    ] = "10M",  # type: ignore[assignment]
    shorten: Annotated[
        bool, flag("--shorten", "Shorten each solution and compare it with a shortest one (superpuzz, dfs).")
    ] = False,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row per deal.")] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw the distributions: .png, .svg or .pdf.")] = None,
    queue: QueueOption = False,
    *,
    work: Work,
) -> None:
    """Solve many random deals and report statistics.

    If interrupted, run the same command again to continue. More --deals or other --sizes add to the study. All searches
    share --memory: less memory means fewer threads.
    """
    from hakoiri.coordinator.deals.study import StudyDeals
    from hakoiri.coordinator.deals.study_plan import dealt_class
    from hakoiri.render.pictures.files import check_ending
    from hakoiri.render.plots import PLOTS
    from hakoiri.storage.engine.files import require_place

    spec = own_spec(puzzle)
    allowed = dealt_class(spec.name, spec.digest).sizes()
    asked = StudyDeals.parse_request(
        spec, sizes=parse_sizes(sizes, allowed.least, allowed.most),
        deals=deals, seed=seed, strategy=strategy, cap=cap, shorten=shorten,  # type: ignore[arg-type]
    )  # fmt: skip
    refuse_with_queue(queue, {"--csv": csv, "--plot": plot})
    # Checked before the work, so that hours of it do not end in a file that cannot be written.
    if plot is not None:
        check_ending(plot, PLOTS)
    if csv is not None:
        require_place(csv)

    def finish(job: StudyDeals, _: "Control") -> dict[str, Any]:
        return _write(job, csv, plot)

    start_run(asked, "study", work, queue=queue, finish=finish)


def _write(job: "StudyDeals", csv: Path | None, plot: Path | None) -> dict[str, Any]:
    from hakoiri.coordinator.deals.study import kept_deals

    study = job.study
    found = kept_deals(study, job.store)
    if csv is not None:
        from hakoiri.coordinator.deals.study_table import write_csv

        puzzles = {size: study.puzzle.sized(size) for size in study.sizes}
        texts = (
            (deal, puzzles[size].random_deal(study.plan.seed, deal.number))
            for size, deals in found.items()
            for deal in deals
        )
        write_csv(texts, study.conventions, csv)
        stderr().print(Text(f"written to {csv}"))
    if plot is not None:
        from hakoiri.render.study_plot import plot_study

        plot_study(study, found, plot)
        stderr().print(Text(f"written to {plot}"))
    return {}
