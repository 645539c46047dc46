"""Harms that a file may come to, and what an answer is worth that was asked of a run with such a file."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.commands import Finished

PAGE = 4096
#: What may differ between two answers of one run.
VOLATILE = {"holder", "checked"}
#: Every question can be answered by the undamaged run, so a refusal must be for damage.
REASONS = re.compile(r"damaged|is missing|its record|digest|is not a valid certificate: ")
Harm = Callable[[bytearray, np.random.Generator], None]


def flip(raw: bytearray, chance: np.random.Generator) -> None:
    """One bit anywhere."""
    raw[int(chance.integers(len(raw)))] ^= 1 << int(chance.integers(8))


def flip_many(raw: bytearray, chance: np.random.Generator) -> None:
    """Forty bits anywhere."""
    for _ in range(40):
        flip(raw, chance)


def flip_header(raw: bytearray, chance: np.random.Generator) -> None:
    """One bit where LMDB keeps a page's number, kind and the places of its entries."""
    raw[int(chance.integers(len(raw) // PAGE)) * PAGE + int(chance.integers(64))] ^= 1 << int(chance.integers(8))


def truncate(raw: bytearray, chance: np.random.Generator) -> None:
    """The file ends early."""
    del raw[int(chance.integers(len(raw))) :]


def blank(raw: bytearray, chance: np.random.Generator) -> None:
    """A sector of zeroes."""
    sector = int(chance.integers(len(raw) // 512)) * 512
    raw[sector : sector + 512] = bytes(512)


def exchange(raw: bytearray, chance: np.random.Generator) -> None:
    """A page where another should be."""
    here, there = (int(page) * PAGE for page in chance.choice(len(raw) // PAGE, 2, replace=False))
    raw[here : here + PAGE] = raw[there : there + PAGE]


#: All of them; what harms less than a page can be done to a file of any size.
HARMS: tuple[Harm, ...] = (flip, flip_many, flip_header, truncate, blank, exchange)


def told(done: Finished) -> Any:
    """The JSON of an answer without what may differ; ``None`` for a refusal that says why."""
    if done.code == 0:
        return {name: value for name, value in done.json.items() if name not in VOLATILE}
    assert done.code == 1, f"neither an answer nor a refusal: {done}"
    if done.arguments[0] == "verify" and done.stdout:
        assert not done.json["ok"], done
        assert done.json["faults"], done
    else:
        assert done.stdout == "", done
        assert REASONS.search(done.error), done
    return None
