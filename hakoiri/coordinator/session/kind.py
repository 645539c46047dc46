"""A kind of run as a user asks for it: its parameters, the puzzles that it fits, and its command; and the core's kinds.

A kind is a frozen dataclass. Its docstring is the help of its command, its fields are the parameters. From them follow
the command (`hakoiri.cli.starting`), the fields of `POST /api/runs`, the kinds of a puzzle in its JSON, the plan and
limits of a run, and the reference. `job` names the class that does the work. A new kind is such a class and a row in
`coordinator.runs.kinds`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, get_type_hints

from hakoiri.errors import Hint, PuzzleError, require_within
from hakoiri.parameters import fitting, given
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec


@dataclass(frozen=True)
class RunKind:
    """The base of all kinds of run."""

    #: The class of its runs (`coordinator.session.job.Job`), as text (`hakoiri.loading`).
    job: ClassVar[str]
    #: An example of its command, which begins with so many `words` of its name; empty if it has none of its own.
    example: ClassVar[str] = ""
    words: ClassVar[int] = 2
    #: The help of the argument PUZZLE; empty if the puzzle is ``sliding``. What else the command takes besides the
    #: fields, by name (`hakoiri.cli.starting`), before the fields unless `fields_first`.
    puzzle: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ("options",)
    fields_first: ClassVar[bool] = False
    #: The files that its command writes, by name, and the help of ``csv`` with the plural of a row.
    files: ClassVar[tuple[str, ...]] = ()
    csv: ClassVar[tuple[str, str]] = ("", "")
    #: Start, goal and options of a puzzle that such a run has no use for; a kind with sizes sets the size by itself.
    without: ClassVar[tuple[str, ...]] = ()
    #: The refusal of a puzzle that cannot have such a run, with its name and the names of those that can, and hints.
    misfit: ClassVar[str] = "{} cannot have such a run; puzzles that can: {}"
    instead: ClassVar[tuple[Hint, ...]] = ()
    #: Whether the form of a new run offers it; a study of many runs is begun by its command or over HTTP.
    in_form: ClassVar[bool] = True
    #: What notes for people say of a puzzle that it fits.
    note: ClassVar[str] = ""
    #: How pydantic reads the fields, from JSON.
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"strict": True, "extra": "forbid"}

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return the kind with these fields, which a user gave in Python; raise `PuzzleError` for a wrong type."""
        hints = get_type_hints(cls)
        return cls(**{name: fitting(name, value, hints[name]) for name, value in given.items()})

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        """Return whether a user may ask for such a run of puzzles of a class."""
        return True

    @classmethod
    def may_be_of(cls, puzzle: type[Any]) -> bool:
        """Return whether puzzles of a class can have such a run, by itself or beside another."""
        return cls.fits(puzzle)

    def check(self, puzzle: Any) -> None:
        """Raise `PuzzleError` if the puzzle cannot have a run with this plan."""

    def checked(self, spec: PuzzleSpec) -> PuzzleSpec:
        """Return the puzzle of the run, of a named one; raise `PuzzleError` for a field out of its bounds."""
        require_bounds(self)
        return spec

    def plan(self) -> dict[str, Any]:
        """Return the fields that are part of the identity of the run (`hakoiri.parameters`)."""
        found = {}
        for each in fields(self):
            value, when = getattr(self, each.name), each.metadata.get("plan", "limit" not in each.metadata)
            if when is True or (when and value != each.default):
                found[each.name] = value
        return found

    def limits(self) -> dict[str, Any]:
        """Return the fields that limit the run."""
        return {each.name: getattr(self, each.name) for each in fields(self) if "limit" in each.metadata}


def require_bounds(asked: Any) -> None:
    """Raise `PuzzleError` for a field of a kind or plan that is out of its bounds."""
    for each in fields(asked):
        if "min" in each.metadata and isinstance(value := getattr(asked, each.name), int):
            require_within(each.name, value, each.metadata["min"], each.metadata.get("max", MOST_SEED))


def require_one(spec: PuzzleSpec, starts: str) -> None:
    """Raise `PuzzleError` if a run is given a start and several `starts`."""
    if starts and spec.start is not None:
        raise PuzzleError("start and starts cannot be combined", Hint("leave out", "start"))


#: The most configurations that a run may be told to stop at; no disk holds as many.
MOST_FOUND = 10**15
#: What a run may keep of its layers: all configurations; those of the last two layers; or these and the depth of all
#: others.
KEEPS = ("layers", "frontier", "depths")


def documented(kind: type[RunKind]) -> dict[str, str]:
    """Return what each field of a kind is, in words; fields without words are no user's."""
    return {each.name: each.metadata["help"] for each in fields(kind) if each.metadata["help"]}


@dataclass(frozen=True)
class ExploreKind(RunKind):
    """Find all configurations that the start can reach, layer by layer."""

    job = "hakoiri.coordinator.layers.job:Explore"
    misfit, instead = "{} is a tree, so it has no moves to search by; a run counts its solutions", (Hint("run", "{}"),)
    until_goal: bool = given("Stop after the layer of the nearest goal.", False, plan="changed", form=False)
    layers: int | None = given(
        "Stop after layer N, which is N moves from the start.", None, plan="changed", min=0, form=None, rare=True
    )
    most: int | None = given(
        "Stop after the layer with which N configurations are found.", None, plan="changed", min=1, max=MOST_FOUND,
        form=None, rare=True,
    )  # fmt: skip
    keep: str = given(
        "What to store: layers, frontier or depths.", KEEPS[0], plan="changed", form=KEEPS[0], words=KEEPS, rare=True
    )
    starts: str = given(
        "Several starts or patterns, one in each line, instead of `start`.", "", plan=False, form="", lines=True,
        rare=True,
    )  # fmt: skip

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.puzzles.contract import Puzzle

        return bool(puzzle.usual_kind == Puzzle.usual_kind)

    def checked(self, spec: PuzzleSpec) -> PuzzleSpec:
        if self.keep not in KEEPS:
            raise PuzzleError(f"a run keeps {', '.join(KEEPS)}, not {self.keep!r}", Hint("change", "keep"))
        require_one(spec, self.starts)
        return super().checked(replace(spec, starts=self.starts) if self.starts else spec)


@dataclass(frozen=True)
class CensusKind(RunKind):
    """List the whole space, with its components and their diameters."""

    job = "hakoiri.coordinator.census.job:CensusJob"
    misfit, instead = "{} cannot list its whole space", (Hint("leave out", "whole"),)
    until_goal: bool = given("Refused: a census has no start.", False, plan="changed")
    diameters: str = given("Components to measure: all, largest=K, below=N or none.", "all", plan="changed")
    by: str = given("How to find the components: joins or layers.", "joins", plan="changed")
    most: int | None = given(
        "Measure no more components, the largest first, once these have N configurations.", None, plan="changed",
        min=1, max=MOST_FOUND, form=None,
    )  # fmt: skip

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.puzzles.contract import Puzzle

        return puzzle.configurations is not Puzzle.configurations


@dataclass(frozen=True)
class HardestKind(RunKind):
    """Find the distance from each configuration of a finished run to its nearest goal."""

    job = "hakoiri.coordinator.goals.job:HardestJob"
    misfit, instead = ExploreKind.misfit, ExploreKind.instead
    base: str = given("Name of the finished run; no `puzzle` is given.")
    base_digest: str = given("")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        return False

    @classmethod
    def may_be_of(cls, puzzle: type[Any]) -> bool:
        return ExploreKind.fits(puzzle)


@dataclass(frozen=True)
class EccentricitiesKind(HardestKind):
    """Find the eccentricity of each configuration of a component of a finished run."""

    job = "hakoiri.coordinator.graphs.bounding:EccentricityJob"
    component: int = given("Number of the component; 0 is the largest.", 0)
    every: bool = given("Find all of them; if false, the diameter is enough.", True, limit=True)
