"""Functions and classes that tables name as text, such as ``hakoiri.puzzles.hanoi:Hanoi``: imported when needed."""

from importlib import import_module
from typing import Any


def loaded(text: str) -> Any:
    """Return what a module and a name in it, joined by a colon, stand for."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)
