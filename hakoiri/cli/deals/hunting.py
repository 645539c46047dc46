"""The command ``hunt``: looks for the hardest deals."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.commands import command_line, option
from hakoiri.cli.driving import refuse_with_queue, start_run
from hakoiri.cli.groups import Work
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.render.tables import stderr

if TYPE_CHECKING:
    from hakoiri.coordinator.deals.hunt import HuntDeals
    from hakoiri.coordinator.session.session import Control


@command_line("hunt gap -o ranks=7 --maximise positions --time 10m")
def hunt(
    puzzle: Annotated[
        str, shared.puzzle_argument("gap, sliding, or FILE.py:NAME for your own with deals that can be varied.")
    ],
    options: shared.PuzzleOptions = None,
    start: shared.FromOption = None,
    goal: shared.GoalOption = None,
    maximise: Annotated[str, option("--maximise", "positions|moves|depth", "Figure to maximise.")] = "positions",
    time: Annotated[
        float, option("--time", "TIME", "Time for this call: 10m, 90s or 1h.", parser=shared.parse_time)
    ] = "10m",  # type: ignore[assignment]
    seed: Annotated[int, shared.seed_option("the hunt")] = 1,
    legs: Annotated[
        int | None, option("--legs", "N", "Stop after N legs in total, not by time. Reproducible.", min=1)
    ] = None,
    cap: Annotated[
        int, option("--cap", "POSITIONS", "Skip deals with more positions: 500k, 10M.", parser=shared.parse_count)
    ] = "10M",  # type: ignore[assignment]
    pool: Annotated[
        int, option("--pool", "N", "Number of deals followed at once. Raise it for more workers.", min=1, max=256)
    ] = 4,
    certificate: Annotated[Path | None, option("--certificate", "FILE", "File for the certificate.")] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Look for the hardest deal by changing deals step by step.

    The hardest deal has the most positions, needs the most moves or goes deepest (--maximise). Run the same command
    again to continue. For gap, --from is the first deal. For sliding, --from gives the pieces, and all boards that
    moves connect count as one.
    """
    from hakoiri.coordinator.deals.hunt import HuntDeals
    from hakoiri.storage.engine.files import require_place
    from hakoiri.storage.names import certificate_file

    spec = shared.spec_of(puzzle, options, start, goal)
    asked = HuntDeals.parse_request(
        spec, objective=maximise, seed=seed, cap=cap, pool=pool, seconds=time, legs=legs,  # type: ignore[arg-type]
    )  # fmt: skip
    refuse_with_queue(queue, {"--certificate": certificate})
    if certificate is not None and spec.digest:
        raise PuzzleError(f"{spec.name} is not a built-in puzzle, so it has no certificate; leave out --certificate")
    if certificate is not None:
        require_place(certificate)

    def finish(job: HuntDeals, control: "Control") -> dict[str, Any]:
        target = None if spec.digest else certificate or certificate_file(job.store.directory)
        return _certify(job, target, work.memory, control)

    start_run(asked, "hunt", work, queue=queue, finish=finish)


def _certify(job: "HuntDeals", target: Path | None, memory: int | None, control: "Control") -> dict[str, Any]:
    """Write the certificate of the best deal, if there is one; return its path."""
    from hakoiri.coordinator.deals.certificate import certify, write_certificate
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.render.progress import shown_progress

    best = job.best
    if best is None:
        stderr().print("no record found yet; give more --time, or a greater --cap")
    if best is None or target is None:
        return {"certificate": None}
    with shown_progress(stderr()) as progress:
        write_certificate(
            certify(job.deal_spec(best), best.figures, Resources(memory=memory), control, progress), target
        )
    stderr().print(Text(f"verify it with: hakoiri verify {shlex.quote(str(target))}"), style="dim")
    return {"certificate": str(target)}
