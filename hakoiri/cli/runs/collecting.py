"""The commands ``collect`` and ``drain``: move runs off all hosts that keep them, or off one host."""

from typing import Annotated

from rich.text import Text

from hakoiri.cli.commands import argument, command_line
from hakoiri.cli.driving import answering
from hakoiri.cli.options import DataOption, JsonOption, OwnFileOption, RedisOption, RunArgument, required_redis
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import print_json, stdout


@command_line("collect last --redis redis://127.0.0.1:6379/0")
def collect(
    name: RunArgument, redis: RedisOption = None, puzzle: OwnFileOption = None, data: DataOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Copy a run from the hosts that keep it to this machine.

    Copies the layers, the components and the goal distances of the run, and checks each layer by its digest. Then the
    hosts delete their parts.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.runs.catalogue import belonging_to, data_directory, find_run, keepers_of
    from hakoiri.coordinator.runs.collect import collect_run

    directory = find_run(data_directory(data), name)
    admit(directory, puzzle)
    with answering("; layers copied so far are kept, run the same command again to continue") as (control, progress):
        kept = [each for each in (directory, *belonging_to(directory)) if keepers_of(each)] or [directory]
        layers = {each.name: collect_run(each, required_redis(redis), control, progress) for each in kept}
    if json:
        print_json({"run": directory.name, "layers": layers.pop(directory.name, 0), "belonging": layers})
    for run, count in {} if json else layers.items():
        stdout().print(Text(f"copied {counted(count, 'layers')} of {run}; no host keeps any of it"))


@command_line("drain host-a-dd71f1 --redis redis://127.0.0.1:6379/0")
def drain(
    host: Annotated[str, argument("HOST", "Name of the host, as 'hakoiri health' shows it.")],
    redis: RedisOption = None, puzzle: OwnFileOption = None, data: DataOption = None, json: JsonOption = False,
) -> None:  # fmt: skip
    """Move all that a host keeps to the other hosts.

    Then no run needs the host, until you start it again. If the host is away, the others use their copies ('run
    --copies 2'). A run in progress moves its ranges as soon as it can. A whole space whose ranges have moved is
    interrupted; 'hakoiri resume' finds its components again.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.runs.catalogue import data_directory
    from hakoiri.coordinator.runs.drain import drain_run, leave_out, runs_kept_by

    url = required_redis(redis)
    kept = runs_kept_by(data_directory(data), host)
    leave_out(host, url, kept)
    with answering("; ranges moved so far are kept, run the same command again to continue") as (control, progress):
        for directory in kept:
            admit(directory, puzzle)
            drain_run(directory, host, url, control, progress)
    if json:
        print_json({"host": host, "runs": [directory.name for directory in kept]})
    else:
        stdout().print(Text(f"{host} keeps nothing of {counted(len(kept), 'runs')}; you can stop it"))
