"""Hakoiri from Python: create a run, open one and query it (`hakoiri` has an example).

Every answer comes from the run's store alone: no Redis, no worker, no other process is needed. Only layers that hosts
keep are read from these, over the Redis of `resources`, else of HAKOIRI_REDIS.
"""

import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from reprlib import repr as shortened
from tempfile import TemporaryDirectory
from typing import Any, cast

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.catalogue import data_directory, find_run, last_twin
from hakoiri.coordinator.runs.catalogue import delete_run as delete_directory
from hakoiri.coordinator.runs.create import make_planned, plan_run
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.runs.opening import open_store
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.kind import ExploreKind
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.drawing import Drawing, DrawnBoard, DrawnPath
from hakoiri.errors import Hint, PuzzleError, visible
from hakoiri.export.graphs import to_dataframe, to_networkx, to_scipy
from hakoiri.export.tables import export_play
from hakoiri.guest_table import ANSWERS
from hakoiri.hints import noted
from hakoiri.keys.layout import Configuration, Keys, as_text
from hakoiri.loading import loaded
from hakoiri.parameters import fitting
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, with_own_file
from hakoiri.puzzles.user.files import require_loaded
from hakoiri.puzzles.user.graph import graph_word, share
from hakoiri.puzzles.user.reopening import require_reopened
from hakoiri.puzzles.user.sources import file_of
from hakoiri.reading import admit, read_board, read_text
from hakoiri.render.files import export_run
from hakoiri.render.plots import plot_layers
from hakoiri.run import components as parts
from hakoiri.run import goals, maps, paths
from hakoiri.run.answers import Play, Statistics
from hakoiri.run.opened import OpenRun
from hakoiri.run.paths import GOAL

#: Beginnings of names of a run that serve commands and the page.
_INTERNAL = (
    "cayley_", "component_asked", "context", "depth_of", "eccentricity_run", "is_", "known", "knows_", "mapped_",
    "measured", "needs_", "not_found", "number_of", "other_metric", "policy", "reached", "require_", "solved",
    "start_is_",
)  # fmt: skip


class Run(OpenRun):
    """An open run; close it, or use it in a ``with``. `puzzle` is the run's, `store` its data.

    `resources` are the threads and memory of this process for questions. A closed run answers no questions
    (`UnanswerableError`); its paths and boards stay usable.
    """

    component_asked = parts.component_asked
    cayley_diameter = parts.cayley_diameter
    component_of = parts.component_of
    components = parts.components
    diameter = parts.diameter
    eccentricities = parts.eccentricities
    eccentricity_run = parts.eccentricity_run
    known_diameter = parts.known_diameter
    needs_run = parts.needs_run
    number_of = parts.number_of
    start_component = property(parts.start_component)
    strong_components = parts.strong
    profile = parts.profile
    summed_profile = parts.summed_profile
    weak_components = parts.weak_components
    at_goal_distance = goals.at_goal_distance
    goal_distances = goals.goal_distances
    hardest = goals.hardest
    other_metric = goals.other_metric
    require_goals = goals.require_goals
    map = maps.map_of
    mapped_component = maps.mapped_component
    path_kind = DrawnPath
    distance = paths.distance
    shortest_paths = paths.shortest_paths
    to_dataframe = to_dataframe
    to_networkx = to_networkx
    to_scipy = to_scipy

    def __repr__(self) -> str:
        return f"<{self._described()}>"

    def __dir__(self) -> list[str]:
        """Return what users call, for completion by Tab."""
        return [name for name in super().__dir__() if not name.startswith(_INTERNAL)]

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def board(self, configuration: Configuration | None = None) -> DrawnBoard:
        """Return a configuration (text, key, row of a layer) as a board to be shown, by default the start."""
        key = self.puzzle.start if configuration is None else self.puzzle.parse(configuration)
        return DrawnBoard(self.puzzle, [key])

    def row(self, configuration: Configuration | None = None) -> list[int]:
        """Return a configuration of permutations as the list that stands for it, by default the start.

        `UnanswerableError` for a puzzle whose texts are no lists of numbers.
        """
        key = self.puzzle.start if configuration is None else self.puzzle.parse(configuration)
        try:
            return [int(word) for word in self.puzzle.render(key).split()]
        except ValueError:
            raise UnanswerableError(f"configurations of {self.puzzle.name} are no lists of numbers") from None

    def path(
        self, target: Configuration = GOAL, source: Configuration | None = None, avoid: Sequence[str] = ()
    ) -> DrawnPath:
        """Return a shortest path, always the same of several; its boards can be drawn."""
        return cast(DrawnPath, paths.path(self, target, source, avoid))

    def film(
        self, file: str | os.PathLike[str], target: Configuration = GOAL, source: Configuration | None = None
    ) -> None:
        """Write a shortest path as a film to a file: .gif, .svg, or .html to step through."""
        self.path(target, source).film(file)

    @property
    def tree(self) -> Any:
        """Return the puzzle of a run of a tree; `UnanswerableError` for any other."""
        return loaded(ANSWERS["tree"])(self)

    def solutions(self) -> Iterator[Keys]:
        """Yield the solutions of a tree in batches: the least image of one solution of each orbit.

        In increasing order if the run is complete, else those found so far. `UnanswerableError` if the run keeps none.
        """
        return cast(Iterator[Keys], loaded(ANSWERS["solutions"])(self))

    def statistics(self, configuration: Configuration | None = None) -> Statistics:
        """Return the figures of a board for its designer, by default of the start: see `Statistics`.

        `positions` and `dead_ends` are those of its component, whose moves are held in memory until the run is closed:
        raises `OverBudgetError` if that is too small. `UnanswerableError` if moves cannot be taken back, if mirror
        images are merged, or without a way to a goal.
        """
        return cast(Statistics, loaded(ANSWERS["statistics"])(self, configuration))

    def best_play(self) -> Play:
        """Return the best play, if moves score: the highest score, then the fewest moves; for a finished run proved.

        For an optimisation it is the best one so far. Raises `UnanswerableError` for other runs, `OverBudgetError` if
        the memory is too small.
        """
        return cast(Play, loaded(ANSWERS["best play"])(self))

    def plot(self, file: str | os.PathLike[str] | None = None) -> Drawing:
        """Return the sizes of the layers, or of the components of a whole space, as a picture that a notebook shows.

        With `file`, also write it there, as .png, .svg or .pdf.
        """
        if file is not None:
            plot_layers(self, Path(file))
        with TemporaryDirectory() as folder:
            plot_layers(self, drawn := Path(folder, "plot.svg"))
            return Drawing(drawn.read_text(encoding="utf-8"))

    def export(
        self, file: str | os.PathLike[str], *, images: bool = False, moves: bool = False, layers: int | None = None,
        per_page: int | None = None,
    ) -> int:  # fmt: skip
        """Write the run to a file in the format given by its ending; return the number of its configurations or rows.

        Tables of configurations: .csv, .parquet. With their moves, and with `moves` the names of these: .npz,
        .graphml, .dot. A certificate: .json. A page to play without a server: .html. Boards to print, `per_page` on
        each page, with their solutions: .pdf. With `layers`, only layers 0 to `layers`; with `images`, every solution
        of a tree, not one per symmetry class.
        """
        return export_run(self, Path(file), images=images, moves=moves, layers=layers, per_page=per_page)

    def export_play(self, file: str | os.PathLike[str]) -> int:
        """Write perfect play to a .csv file: key, distance to the goal, a best move and the key after it.

        Returns the number of configurations.
        """
        return export_play(self, Path(file))

    def _described(self) -> str:
        if self._closed:
            return f"Run {self.name}: closed"
        state, kind = self.store.state, self.store.manifest.kind
        puzzle = " ".join([self.puzzle.name, *(f"{name}={value}" for name, value in self.puzzle.parameters.items())])
        return f"Run {self.name} of {puzzle}: {kind}, {state.status}, {state.progress.done:,} {state.progress.unit}"

    def _repr_html_(self) -> str:
        drawn = self.board().svg() if self.kind.has_graph else ""
        return f"<figure>{drawn}<figcaption>{escape(self._described())}</figcaption></figure>"


for _name, _method in inspect.getmembers(Run, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(Run, _name, noted()(_method))


@noted()
def open_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    puzzle: str | None = None,
) -> Run:  # fmt: skip
    """Open a run by its name, a unique prefix, or ``last``; `data` as on the command line, `resources` as for `Run`.

    `puzzle` (FILE.py:NAME) names the file of a user puzzle of which this user has not created runs. Raises
    `UnknownRunError`, `MismatchError` for another puzzle, and `DamagedError` if its file cannot be read.
    """
    return _opened(_admitted(name, data, puzzle), resources)


@noted()
def resume_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    observer: Observer | None = None, repair: bool = False, puzzle: str | None = None,
) -> Run:  # fmt: skip
    """Resume a run from its last commit to its end, in this process; `repair` first computes damaged data again."""
    return _drive_to_end(_admitted(name, data, puzzle), resources, observer, repair)


@noted()
def verify_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, full: bool = False, seed: int | None = None,
    puzzle: str | None = None,
) -> Report:  # fmt: skip
    """Derive a run again by the reference rules and report the faults, in a sample or, with `full`, in all of it.

    The sample is that of `seed`, by default a random one; the report contains it.
    """
    directory = _admitted(name, data, puzzle)
    return verify_directory(directory, full, Resources(), Control(), SilentObserver(), seed)


@noted()
def delete_run(name: str, data: str | os.PathLike[str] | None = None) -> None:
    """Delete a run, all its data and its goal distances; `RunHeldError` while a process drives one of them."""
    delete_directory(find_run(data_directory(data), name))


@noted()
def explore(
    puzzle: str | type[Puzzle] | Puzzle = "klotski", options: Mapping[str, str] | None = None, *,
    start: Configuration | os.PathLike[str] | None = None,
    starts: Iterable[Configuration] | os.PathLike[str] | None = None, merge_mirrors: bool = False,
    until_goal: bool = False, layers: int | None = None, most: int | None = None, keep: str = "layers",
    reuse: bool = False, data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Create a run and drive it to its end in this process: all that `start` reaches, by layers.

    `puzzle` is a name, ``FILE.py:NAME``, or a class or an instance of yours; of those in a script or notebook the
    source is kept. The search stops after layer `layers`, or after the layer with which it has found `most`
    configurations, if given. `start` is a configuration, or a file that holds one. `starts`, instead, are several
    configurations (such as a layer of another run) or patterns, or a file of them. To `keep` is ``layers``,
    ``frontier`` or ``depths``, as on the command line. With `reuse`, the last run that did the same is opened instead,
    or resumed if it was stopped.
    """
    spec = _spec(puzzle, options, start, merge_mirrors)
    listed = "" if starts is None else _lines_of(starts)
    # An instance has a start of its own.
    spec = replace(spec, start=None) if listed and start is None else spec
    asked = Job.parse_request(spec, until_goal=until_goal, layers=layers, most=most, keep=keep, starts=listed)
    return _run_to_end(asked.spec, None, asked.plan, data, resources, observer, reuse)


@noted()
def explore_graph(
    start: Hashable, moves: Callable[[Any], Iterable[Hashable]], *, goal: Callable[[Any], bool] | None = None,
    until_goal: bool = False, layers: int | None = None, most: int | None = None, reuse: bool = False,
    data: str | os.PathLike[str] | None = None, resources: Resources | None = None, observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Explore all states that a function leads to: ``moves(state)`` gives the states after one move.

    A state is any hashable value; Python's ``==`` decides which states are the same. `goal` returns whether a state is
    a goal. Both functions are called in plain Python, and up to two million states are kept in memory. Define them at
    the top level of a file or notebook: of others, such as a lambda, up to 250,000 states are kept as a table, and a
    warning says so. With `layers`, `most` or `until_goal`, only states up to that layer are met, and moves count as
    directed.
    """
    require_loaded()
    asked = ExploreKind.of(until_goal=until_goal, layers=layers, most=most)
    word, met = graph_word(start, moves, goal, asked.layers, asked.most, asked.until_goal)
    spec = with_own_file(PuzzleSpec(word))
    if met is not None:
        share(spec.kind(), start, met)
    return _run_to_end(spec, None, Job.request(spec, asked).plan, data, resources, observer, reuse)


@noted()
def explore_permutations(
    permutations: Mapping[Any, Sequence[int] | str] | Sequence[Sequence[int] | str], *, name: str = "permutations",
    start: Configuration | None = None, identical: Sequence[Sequence[int]] = (), metric: str = "given",
    until_goal: bool = False, layers: int | None = None, most: int | None = None, keep: str = "layers",
    reuse: bool = False, data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Explore what permutations make of the places 0, 1, 2, ...: ``p`` brings what is at place ``p[i]`` to place i.

    `permutations` are lists, or cycles such as ``"(0 1 2)(4 5)"`` for ``p[0] = 1, p[1] = 2, p[2] = 0, ...``, by name;
    in a list without names the second is ``g2``. Places in one list of `identical` look alike. `start` is a row or an
    algorithm, by default the places in order. By `metric` only the permutations themselves are moves; with ``quarter``
    their inverses as well, and with ``half`` all their powers.
    """
    from hakoiri.puzzles.definitions.stickers import from_permutations, generators

    name, metric = fitting("name", name, str), fitting("metric", metric, str)
    definition = from_permutations(name, generators(permutations), identical, 0).checked().text()
    spec = PuzzleSpec(name, {"metric": metric}, None if start is None else as_text(start), definition=definition)
    plan = Job.parse_request(spec, until_goal=until_goal, layers=layers, most=most, keep=keep).plan
    return _run_to_end(spec, None, plan, data, resources, observer, reuse)


@noted()
def census(
    puzzle: str | type[Puzzle] | Puzzle = "klotski", options: Mapping[str, str] | None = None, *,
    start: Configuration | os.PathLike[str] | None = None, merge_mirrors: bool = False, diameters: str = "all",
    by: str = "joins", most: int | None = None, reuse: bool = False, data: str | os.PathLike[str] | None = None,
    resources: Resources | None = None, observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Create a run and drive it to its end in this process: all configurations, components and exact diameters.

    `start` is the board or a file that holds it, only for puzzles that need one (``sliding``); `reuse` as for
    `explore`. With `diameters` ``largest=K`` or ``below=N``
    distances are measured only in the K largest components, or in those of fewer than N configurations; with ``none``
    the configurations are listed without components. With `most`, no more components are measured, the largest first,
    once these have as many configurations. They are found ``by`` joining the ends of all moves or, with
    ``layers``, by a search in each, which takes longer and also gives the sizes of its layers.
    """
    # Imported late: a census loads much that explorations have no use for.
    from hakoiri.coordinator.census.job import CensusJob

    asked = CensusJob.parse_request(_spec(puzzle, options, start, merge_mirrors), diameters=diameters, by=by, most=most)
    return _run_to_end(asked.spec, "census", asked.plan, data, resources, observer, reuse)


def _spec(
    puzzle: str | type[Puzzle] | Puzzle, options: Mapping[str, str] | None,
    start: Configuration | os.PathLike[str] | None, merge_mirrors: bool,
) -> PuzzleSpec:  # fmt: skip
    require_loaded()
    texts, merged = _texts_of(options), fitting("merge_mirrors", merge_mirrors, bool)
    if isinstance(start, str | os.PathLike):
        start = read_board(start)
    if isinstance(puzzle, Puzzle):
        texts, start = puzzle.option_texts() | texts, puzzle.start_text() if start is None else start
    if not isinstance(puzzle, str):
        puzzle = _word_of(puzzle if isinstance(puzzle, type) else type(puzzle))
    spec = with_own_file(PuzzleSpec(puzzle, texts, None if start is None else as_text(start), merged))
    require_reopened(puzzle, spec.options, spec.start)
    return spec


def _texts_of(options: Mapping[str, str] | None) -> dict[str, str]:
    """Return the options of a puzzle as texts; their values may be whole numbers."""
    if not isinstance(options, Mapping | None):
        text = f"options is {visible(shortened(options))}; expected a dict such as {{'rows': '3', 'columns': '4'}}"
        raise PuzzleError(text, Hint("change", "option"))
    given = {} if options is None else options
    return {fitting("option", name, str): str(fitting(f"option {name}", given[name], str | int)) for name in given}


def _lines_of(starts: Iterable[Configuration] | os.PathLike[str]) -> str:
    """Return several starts as lines, never empty."""
    if isinstance(starts, str | os.PathLike):
        return read_text(os.fspath(starts)) or ";"
    if not isinstance(starts, Iterable):
        raise PuzzleError(f"starts is {visible(shortened(starts))}; expected a list of configurations, or a file")
    return "\n".join(map(as_text, starts)) or ";"


def _word_of(kind: type[Puzzle]) -> str:
    """Return the name of a built-in class, or FILE.py:NAME of one of a user."""
    if not issubclass(kind, Puzzle):
        raise PuzzleError(
            f"{kind.__name__} is not a puzzle; expected a name, a subclass of Puzzle or an instance of one"
        )
    places = {place: name for name, place in PUZZLES.items()}
    return places.get(f"{kind.__module__}:{kind.__name__}") or f"{file_of(kind)}:{kind.__name__}"


def _admitted(name: str, data: str | os.PathLike[str] | None, puzzle: str | None) -> Path:
    directory = find_run(data_directory(data), name)
    admit(directory, puzzle)
    return directory


def _run_to_end(
    spec: PuzzleSpec, kind: str | None, plan: Mapping[str, Any], data: str | os.PathLike[str] | None,
    resources: Resources | None, observer: Observer | None, reuse: bool,
) -> Run:  # fmt: skip
    where, reuse = data_directory(data), fitting("reuse", reuse, bool)
    manifest = plan_run(where, spec, kind, plan, resources or Resources())
    if reuse and (twin := last_twin(where, manifest, "complete")) is not None:
        return _opened(where / twin, resources)
    left = last_twin(where, manifest, "running", "interrupted") if reuse else None
    directory = make_planned(where, manifest, False, None) if left is None else where / left
    return _drive_to_end(directory, resources, observer)


def _drive_to_end(directory: Path, resources: Resources | None, observer: Observer | None, repair: bool = False) -> Run:
    drive_to_end(directory, resources or Resources(), Control(), observer or SilentObserver(), repair)
    return _opened(directory, resources)


def _opened(directory: Path, resources: Resources | None) -> Run:
    return Run(open_store(directory, resources.redis if resources else None), resources)
