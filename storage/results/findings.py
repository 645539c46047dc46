"""What studies and hunts find, one row at a time: a SQLite file, each row durable when `add` returns.

Table ``about`` says what the file belongs to (name, value); table ``findings`` has a row per finding: `kind` (a text),
`number` (an integer, one of each kind) and `figures`, a JSON object. Any program that reads SQLite can read it.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from storage.engine.environment import refuse_network_file_system
from storage.errors import StorageError

SUFFIX = ".sqlite"
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS findings (
    kind TEXT NOT NULL, number INTEGER NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (kind, number)
) WITHOUT ROWID;
"""
_BUSY_SECONDS = 30.0


class Findings:
    """An open file of findings; close it, or use it in a ``with``. Several processes may add to one file."""

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        """Opens or makes `path`; `StorageError` if it belongs to something else than `about`, or cannot be used."""
        self.path = path
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            refuse_network_file_system(path.parent)
            self._connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            with self._translated():
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.executescript(_SCHEMA)
                self._claim({"version": str(_VERSION), **about})
        except BaseException:
            self._connection.close()
            raise

    def _claim(self, about: Mapping[str, str]) -> None:
        # All rows or none: a kill between two of them would leave a file that belongs to nobody.
        with self._transaction():
            if not self.about():
                self._connection.executemany("INSERT INTO about VALUES (?, ?)", list(about.items()))
        there = self.about()
        for name, value in about.items():
            if there.get(name) != value:
                raise StorageError(
                    f"{self.path} was made with {name} {there.get(name)!r}, this asks for {value!r}; "
                    "give another --data, or move the file away"
                )

    def about(self) -> dict[str, str]:
        """What the file belongs to."""
        with self._translated():
            return dict(self._connection.execute("SELECT name, value FROM about"))

    def add(self, kind: str, number: int, figures: Mapping[str, Any]) -> None:
        """One finding, in the place of an older one of that kind and number; durable on return."""
        self.add_many(kind, {number: figures})

    def add_many(self, kind: str, findings: Mapping[int, Mapping[str, Any]]) -> None:
        """Several findings of a kind by number, all or none; durable on return, for the price of one."""
        rows = [(kind, number, json.dumps(figures)) for number, figures in findings.items()]
        with self._translated(), self._transaction():
            self._connection.executemany("INSERT OR REPLACE INTO findings VALUES (?, ?, ?)", rows)

    def rows(self, kind: str) -> dict[int, dict[str, Any]]:
        """All findings of a kind by number, in increasing order."""
        with self._translated():
            found = self._connection.execute(
                "SELECT number, figures FROM findings WHERE kind = ? ORDER BY number", (kind,)
            ).fetchall()
        try:
            return {number: json.loads(figures) for number, figures in found}
        except ValueError as error:
            raise StorageError(f"{self.path} is damaged: {error}; move it away and begin anew") from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Findings":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Everything in the block or nothing; durable when the block has ended."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk has rolled back by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(f"{self.path} cannot be used: {error}; what was added before is kept") from error
        except sqlite3.DatabaseError as error:
            raise StorageError(f"{self.path} is damaged: {error}; move it away and begin anew") from error
        except OSError as error:
            raise StorageError(f"{self.path} cannot be used: {error.strerror or error}") from error
