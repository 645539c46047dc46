"""Parameters: fields of dataclasses that say how a user gives them, once for every interface.

A question to a run and a kind of run are such dataclasses (`hakoiri.questions`, `coordinator.session.kind`), and so are
groups of options (`hakoiri.cli.driving`). Options of the command line, fields of JSON and the reference follow.
"""

from dataclasses import MISSING, field
from typing import Any


def parameter(
    names: str, metavar: str | None, text: str, usual: str | bool = True, default: Any = None, **more: Any
) -> Any:
    """Return a field that is an option of its command; without `names` an argument, which is required unless `typed`.

    `usual` is what the help shows as the default. Completion offers the `words`. Further arguments are typer's,
    besides these: `required` is true for an option without a default. `typed` is the default as a user would type it.
    `amount` is ``count`` or ``time`` for a number with a unit. `read` names the reader of a text
    (`hakoiri.cli.options`), or is ``text`` if the run checks it. A field of a kind of run is in the plan, which is
    part of the run's identity. A `limit` is not, nor is a field whose `plan` is false, or ``changed`` while the value
    is the default. If `form` is given, the page has the field, too, which begins with this value; `lines` is true for
    a text of several lines, `rare` for a field that is folded away.
    """
    told = {"names": names.split(), "metavar": metavar, "help": text, "show_default": usual} | more
    return field(metadata=told) if not names else field(default=default, metadata=told)


def flag(names: str, text: str, **more: Any) -> Any:
    """Return a field that is true if its option is given."""
    return parameter(names, None, text, default=False, **more)


def given(text: str, default: Any = MISSING, **more: Any) -> Any:
    """Return a field that JSON and Python have, and the command line has not; `more` is as for `parameter`."""
    return field(default=default, metadata={"help": text} | more)
