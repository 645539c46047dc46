"""Declares functions as commands by a decorator, and gives typer their option groups as separate options."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

import typer

_Function = TypeVar("_Function", bound=Callable[..., None])
#: By the words of its name: the function of each command in the imported modules, and an example.
_DECLARED: dict[tuple[str, ...], tuple[Callable[..., None], str]] = {}


def command_line(example: str, words: int = 1) -> Callable[[_Function], _Function]:
    """Declare a function as a command. The help shows the `example`, which begins with the `words` of its name."""

    def declare(function: _Function) -> _Function:
        _DECLARED[tuple(example.split()[:words])] = function, f"Example: hakoiri {example}"
        return function

    return declare


#: The panel of the help for options of workers and hosts.
TEAM = "Workers and hosts"


def option(names: str, metavar: str | None, text: str, usual: str | bool = True, **more: Any) -> Any:
    """Return an option with a value, which the help calls `metavar`; several names are separated by spaces.

    `usual` is what the help shows as the default.
    """
    return typer.Option(*names.split(), metavar=metavar, help=text, show_default=usual, **more)


def flag(names: str, text: str) -> Any:
    """Return an option without a value."""
    return typer.Option(*names.split(), help=text)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Return an argument, which the help calls `metavar`."""
    return typer.Argument(metavar=metavar, help=text, **more)


def declared(name: str) -> Iterator[tuple[str, Callable[..., None], str]]:
    """Yield the last word, the function for typer and the example of the command `name`, or of each of its group."""
    for words, (function, example) in sorted(_DECLARED.items()):
        if words[0] == name:
            yield words[-1], ungrouped(function), example


def ungrouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return `command` with the options of each group in place of the group's parameter."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in fields(group)})
        command(**given)

    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _options_of(group: Any) -> list[Parameter]:
    own = signature(group, eval_str=True).parameters.values()
    return [option.replace(kind=Parameter.KEYWORD_ONLY) for option in own]
