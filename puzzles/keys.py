"""Packed configurations: the integer types that every folder passes along, always in numpy batches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Key = int
Keys = NDArray[np.unsignedinteger[Any]]
Counts = NDArray[np.uint16]
Mask = NDArray[np.bool_]

#: Key layouts by the name that a manifest pins. Two and four words of uint64 will join them.
LAYOUTS: dict[str, np.dtype[Any]] = {"u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64)}


def layout_of(dtype: np.dtype[Any]) -> str:
    """The pinned name of a key dtype, e.g. ``"u32"``; ``KeyError`` for a dtype that is no key."""
    for name, known in LAYOUTS.items():
        if known == dtype:
            return name
    raise KeyError(dtype)
