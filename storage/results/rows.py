"""What runs find one thing after another: numbered rows in tables, durable with the commit that they are staged for.

``rows``  record per row, named by its table (a text), ``/`` and its number, 4 bytes big-endian
"""

from collections.abc import Mapping
from typing import Any

from storage.errors import DamagedError
from storage.ledger.ledger import Ledger
from storage.names import ROWS, number_key


class ResultRows:
    """One table of an open run."""

    def __init__(self, ledger: Ledger, table: str) -> None:
        self._ledger, self._table, self._prefix = ledger, table, f"{table}/".encode()

    def stage(self, number: int, fields: Mapping[str, Any]) -> None:
        """Keep a row, in place of an older one of this number, for the next commit."""
        self._ledger.stage_record(ROWS, self._prefix + number_key(number), dict(fields))

    def numbers(self) -> list[int]:
        """The numbers of the rows, in order; the rows are not read."""
        return [int.from_bytes(name[len(self._prefix) :], "big") for name in self._ledger.names(ROWS, self._prefix)]

    def read(self, number: int) -> dict[str, Any]:
        """One row; `DamagedError` that names it."""
        return self._ledger.read_record(ROWS, self._prefix + number_key(number), f"row {number} of {self._table}")

    def all(self) -> dict[int, dict[str, Any]]:
        """All rows by number, in order."""
        return {number: self.read(number) for number in self.numbers()}

    def faults(self) -> dict[int, str]:
        """What is wrong with rows, by number."""
        found = {}
        for number in self.numbers():
            try:
                self.read(number)
            except DamagedError as error:
                found[number] = str(error)
        return found

    def forget(self, number: int) -> None:
        """With the next commit: a row is no more."""
        self._ledger.erase(ROWS, self._prefix + number_key(number))
