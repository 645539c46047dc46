"""Commands that ask a run: made from the questions of `hakoiri.questions`."""

from collections.abc import Callable
from typing import Any

from hakoiri.cli.driving import QueryOptions
from hakoiri.cli.options import RunArgument, ungrouped
from hakoiri.questions.question import Means, Question
from hakoiri.questions.registry import question_class
from hakoiri.render.tables import print_json


def asking(name: str) -> tuple[str, Callable[..., None], str]:
    """Return a question's command: its name, the function for typer, and its example."""
    kind = question_class(name)

    def command(run: str, question: Question, query: QueryOptions) -> None:
        _ask(run, question.checked(), query)

    command.__doc__ = kind.__doc__
    command.__annotations__ = {"run": RunArgument, "question": kind, "query": QueryOptions}
    return name, ungrouped(command), f"Example: hakoiri {kind.example}"


def _ask(name: str, question: Question, query: QueryOptions) -> None:
    """Ask a run, and print the answer."""
    with query.open(name) as run:
        found: Any = question.ask(run, Means())
        question.write(run, found)
        if query.json:
            print_json({"run": run.name} | question.row(run, found))
        else:
            question.view(run, found)
