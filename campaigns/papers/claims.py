"""The claims of a paper, the commands that answer them, and the verdict that follows from both figures."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from campaigns.atlas.entries import Answer, typed

Verdict = Literal["agrees", "answered", "differs", "refuted", "cannot be known", "not run"]
#: What answers a claim, from the answers of its commands.
Ours = Callable[[Sequence[Answer]], Any]


@dataclass(frozen=True)
class Claim:
    """A figure or sentence of a paper. `place` says where it is, `paper` is its figure or word, `ours` finds ours.

    They agree if they are equal, or if `holds` says so of a claim in words. If they need not agree, `otherwise` is the
    verdict of another figure, and `why` explains it: ``answered`` where the paper asks, or has no figure. Without
    `ours` the paper's figure cannot be checked, and `why` says so.
    """

    place: str
    said: str
    paper: Any
    ours: Ours | None = None
    why: str = ""
    otherwise: Literal["answered", "differs", "refuted"] | None = None
    holds: Callable[[Sequence[Answer]], bool] | None = None

    def row(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """The claim as a row of the results; an unexpected difference has no `why`."""
        if self.ours is None:
            return self.unasked()
        found = self.ours(answers)
        agrees = self.holds(answers) if self.holds else found == self.paper
        verdict: Verdict = "agrees" if agrees else self.otherwise or "differs"
        return self._told(found, verdict, "" if not agrees and self.otherwise is None else self.why)

    def unasked(self) -> dict[str, Any]:
        """The claim as a row before its commands have run."""
        return self._told(None, "not run" if self.ours else "cannot be known", self.why)

    def _told(self, ours: Any, verdict: Verdict, why: str) -> dict[str, Any]:
        return {
            "place": self.place,
            "said": self.said,
            "paper": self.paper,
            "ours": ours,
            "verdict": verdict,
            "why": why,
        }


@dataclass(frozen=True)
class Work:
    """Command lines in one data directory, and the claims that their answers are held against; `short` ones run in CI.

    Without lines it holds claims that no command can check.
    """

    name: str
    lines: tuple[tuple[str, ...], ...]
    claims: tuple[Claim, ...]
    short: bool = True

    def commands(self) -> list[str]:
        """The commands as one types them."""
        return [typed(line) for line in self.lines]

    @property
    def folder(self) -> str:
        """The name of a folder for the answers; other commands have another."""
        digest = hashlib.sha256("\n".join(self.commands()).encode()).hexdigest()[:6]
        return f"{self.name.replace(' ', '-').replace(',', '')}-{digest}"

    @property
    def asked(self) -> str:
        """Return commands and claims as one text, which identifies the piece of work."""
        return "\n".join([*self.commands(), *(f"{claim.place}: {claim.said}: {claim.paper}" for claim in self.claims)])

    def rows(self, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        return [claim.row(answers) for claim in self.claims]


@dataclass(frozen=True)
class Paper:
    """A paper, its works and what is said of it on the page."""

    name: str
    title: str
    text: str
    works: tuple[Work, ...]


def field(*path: Any, number: int = 0) -> Ours:
    """The value at `path` in answer `number`."""

    def found(answers: Sequence[Answer]) -> Any:
        value: Any = answers[number]
        for step in path:
            value = value[step]
        return value

    return found


def unexpected(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Claims that differ for no stated reason."""
    return [
        f"{row['place']}: {row['said']}: the paper has {row['paper']}, this is {row['ours']}"
        for row in rows
        if row["verdict"] not in ("agrees", "answered") and not row["why"]
    ]
