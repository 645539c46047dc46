"""Commands that ask a run: made from the questions of `hakoiri.questions`."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from hakoiri.cli import driving
from hakoiri.cli.options import RUN, ungrouped
from hakoiri.coordinator.runs.catalogue import base_of, data_directory, find_run
from hakoiri.hints import command as command_for
from hakoiri.hints import named
from hakoiri.questions.question import Means, Question, question_class
from hakoiri.render.tables import print_json
from hakoiri.storage.ledger.ledger import Ledger

#: The options of a command by the work that its question may need.
_OPTIONS = {
    "": driving.QueryOptions, "redis": driving.QueryWithWorkers, "chunks": driving.ChunksOfOwnRun,
    "layers": driving.LayersOfOwnRun,
}  # fmt: skip


def asking(name: str) -> tuple[str, Callable[..., None], str]:
    """Return a question's command: its name, the function for typer, and its example."""
    kind = question_class(name)

    def command(run: str = RUN, *, question: Question, options: Any) -> None:
        _ask(run, question.checked(), options)

    command.__doc__ = kind.__doc__
    command.__annotations__ = {"run": str, "question": kind, "options": _OPTIONS[kind.work]}
    return name, ungrouped(command), f"Example: hakoiri {kind.example}"


def _ask(name: str, question: Question, options: Any) -> None:
    """Ask a run, and print the answer or the name of the queued run that finds it."""
    queue, resources = getattr(options, "queue", False), getattr(options, "resources", None)
    driving.refuse_with_queue(
        queue, {f"--{name}": value for name, value in vars(question).items() if isinstance(value, Path)}
    )
    directory = find_run(data_directory(options.data), name)
    if question.has_own_run and (base := base_of(directory)):
        with Ledger(directory) as ledger:
            question, directory = question.about_base(ledger.manifest), directory.with_name(base)
    from hakoiri.api import open_run
    from hakoiri.coordinator.session.resources import Resources

    redis = None if resources is None else resources.redis
    with open_run(directory.name, options.data, Resources(redis, memory=options.memory), options.puzzle) as run:
        if resources is not None and queue:
            own, limits = question.own_run(run)
            driving.report_queued(own.make(resources, True, **limits), redis, options.json)
            return
        again = command_for(question.again, named(run.store.directory)) if question.again else ""
        stopping: Any = (
            driving.answering(question.stopped.format(again)) if question.stopped else nullcontext((None, None))
        )
        with stopping as (control, observer):
            found: Any = question.ask(run, Means(control, observer, resources))
        question.write(run, found)
        if options.json:
            print_json({"run": run.name} | question.row(run, found))
        else:
            question.view(run, found)
