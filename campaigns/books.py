"""The books of a campaign: a line of JSON for each piece of its work that is over, which is not done again."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class Books:
    """A file of JSON lines. The fields of a line that are called `names` say which piece of work it is of."""

    def __init__(self, path: Path, *names: str) -> None:
        self._path, self._names = path, names
        if path.exists():
            # A kill may have cut off the last one.
            content = path.read_bytes()
            os.truncate(path, content.rfind(b"\n") + 1)
        self._done = {self._key(row) for row in self.rows()}

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self._names)

    def rows(self) -> Iterator[dict[str, Any]]:
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                yield json.loads(line)

    def has(self, piece: Mapping[str, Any]) -> bool:
        """Return whether the books had a line of it when they were opened."""
        return self._key(piece) in self._done

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        """Write a line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
        return row
