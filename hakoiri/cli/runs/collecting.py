"""``collect``: a run brought home from the hosts that keep it."""

from rich.text import Text

from hakoiri.cli.commands import command_line
from hakoiri.cli.driving import answering
from hakoiri.cli.options import DataOption, JsonOption, OwnFileOption, RedisOption, RunArgument, required_redis
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import print_json, stdout


@command_line("collect last --redis redis://127.0.0.1:6379/0")
def collect(
    name: RunArgument, redis: RedisOption = None, puzzle: OwnFileOption = None, data: DataOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Bring a run home from the hosts that keep it.

    Each layer is checked by its digest. Afterwards the hosts have dropped their parts, and no answer needs them.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.runs.catalogue import data_directory, find_run
    from hakoiri.coordinator.runs.collect import collect_run

    directory = find_run(data_directory(data), name)
    admit(directory, puzzle)
    with answering(": what is here stays, and the next collect goes on from there") as (control, progress):
        count = collect_run(directory, required_redis(redis), control, progress)
    if json:
        print_json({"run": directory.name, "layers": count})
    else:
        stdout().print(Text(f"{counted(count, 'layers')} of {directory.name} are home; no host keeps any of it"))
