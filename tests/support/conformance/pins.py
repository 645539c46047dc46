"""Pinned versions of puzzles, and a digest of what the walks from its samples meet.

Whoever changes keys, texts, moves or goals increases the version of the puzzle, and pins both in pins.json.
"""

import hashlib
import json
from itertools import chain
from pathlib import Path

from hakoiri.keys.layout import ints
from hakoiri.puzzles.conformance.pool import Pool

_PINNED = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
#: The versions other than 1, by puzzle.
VERSIONS: dict[str, int] = _PINNED["versions"]
DIGESTS: dict[str, str] = _PINNED["digests"]


def digest_of(pool: Pool) -> str:
    """Return a digest of what must not change without a new version: keys, texts, moves and goals on the walks."""
    puzzle, digest = pool.puzzle, hashlib.sha256()
    keys = list(dict.fromkeys(chain.from_iterable(pool.paths)))
    batch = puzzle.keys(keys)
    images = ints(puzzle.canonical(batch)) if puzzle.has_mirrors else keys
    for key, image, goal in zip(keys, images, puzzle.is_goal(batch).tolist(), strict=True):
        after = sorted(set(pool.successors.get(key) or puzzle.successors(key)))
        digest.update(repr((puzzle.layout.name, key, puzzle.render(key), after, image, goal)).encode())
    return digest.hexdigest()[:12]
