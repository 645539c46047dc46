"""Poisonous puzzles: rules of a user's puzzle that end the process that computes them, or never return."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from campaigns.mayhem.memory import Group, entering
from campaigns.mayhem.scene import MOST_SECONDS, Scene
from campaigns.mayhem.services import POISON_FILE, POISONS
from campaigns.mayhem.trials import Measure, Outcome, Part, Trial, pair_of
from campaigns.mayhem.works import FOR_WORKERS, OWN_FILE, WORKS, by_workers, differences, findings, undisturbed_in
from hakoiri.errors import StorageError
from hakoiri.puzzles.user.files import FILES
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import HAKOIRI, Running, wait_until
from tests.support.web import ADDRESS, ENVIRONMENT, Server

_FILES = {FILES: f"{OWN_FILE}:{POISON_FILE}"}
_LIMIT_MB = 400
#: A run is given up after so many sessions at most.
_MOST_SESSIONS = 6
#: Workers without memory are killed 25 times before a chunk is given up.
_MOST_SESSION_SECONDS = 600.0
#: Good runs that take about a second, and those of them of which workers do chunks.
_GOOD = [WORKS[name] for name in ("explore", "directed", "own puzzle")]
_GOOD_FOR_WORKERS = [FOR_WORKERS[name] for name in ("whole", "tree", "own puzzle")]
#: Each chunk is one configuration, for a worker.
_FARMED = ("--whole", "--chunk", "1", "--farm", "1")
_ENDLESS, _HUNGRY, _GREEDY = "Endless", "Hungry", "Greedy"


class Poisoned:
    """A scene with a run of a poisonous puzzle, and a good run queued after it."""

    def __init__(self, scene: Scene, poison: str, program: Path) -> None:
        self.scene, self.poison, self.program = scene, poison, program
        self.puzzle = f"{POISON_FILE}:{poison}"
        self.runs = list[str]()

    def start(self, *line: str, **more: str) -> Running:
        """Start a command that knows the puzzle files."""
        redis = {"HAKOIRI_REDIS": self.scene.url} if self.scene.redis else {}
        return self.scene.hakoiri.start(*line, env=_FILES | ENVIRONMENT | redis | more, executable=self.program)

    def queue(self) -> None:
        """Queue the poisonous run, then the good one."""
        farms = bool(self.scene.redis)
        poisonous = ("enqueue", self.puzzle, *(_FARMED if farms else ()))
        for line in (poisonous, by_workers(self.scene.work, farms).queue):
            self.runs.append(self.scene.hakoiri.here(*line, "--json").json["run"])

    def status(self, number: int) -> str:
        """Return the status of run 0 (poisonous) or run 1 (good); empty if there is no such run."""
        with suppress(FileNotFoundError, StorageError), Ledger(self.scene.hakoiri.data / self.runs[number]) as ledger:
            return ledger.state.status
        return ""

    def let_run(self, running: Running) -> None:
        """Wait until the only run is driven, and up to two seconds more, in which it may reach the harmful rule."""
        state = self.scene.hakoiri.state
        wait_until(lambda: state().status == "running" or running.process.poll() is not None, MOST_SECONDS, "the run")
        self.scene.let_work(running, 2.0)

    def let_good_one_end(self, service: Running) -> None:
        """Wait until the good run is complete; a poisonous run that never ends is cancelled first."""
        began = time.monotonic()

        def wait(number: int, status: str) -> None:
            wait_until(
                lambda: self.status(number) == status or service.process.poll() is not None,
                MOST_SECONDS, f"run {number} to be {status}",
            )  # fmt: skip

        if self.poison == _ENDLESS:
            wait(0, "running")
            # It may have reached the harmful rule by then.
            self.scene.let_work(service, 2.0)
            self.scene.hakoiri.here("cancel", self.runs[0])
        wait(1, "complete")
        self.scene.outcome.figures["waited"] = round(time.monotonic() - began, 2)

    def end(self, *services: Running) -> None:
        """Stop the services, which must be alive and end with 0."""
        for service in services:
            if service.process.poll() is None:
                service.send(signal.SIGTERM)
            else:
                self.scene.outcome.faults.append(f"{service.arguments[0]} has ended by itself")
            self.scene.finish(service)

    def give_up(self, *line: str) -> None:
        """Drive the poisonous run until it has failed or is cancelled; one without memory may stay interrupted."""
        for _ in range(_MOST_SESSIONS):
            if self.status(0) in ("failed", "cancelled", *["interrupted"] * (self.poison == _GREEDY)):
                return
            self.scene.finish(self.start(*line), seconds=_MOST_SESSION_SECONDS)
        self.scene.outcome.faults.append(f"the poisonous run is {self.status(0)} after {_MOST_SESSIONS} sessions")

    def judge(self) -> None:
        """Note a fault if the good run differs from an undisturbed run, or the poisonous one is complete."""
        outcome = self.scene.outcome
        found = findings(self.scene.hakoiri.data / self.runs[1])
        outcome.faults += differences(self.scene.expected, found)
        outcome.figures["good"] += found["status"] == "complete"
        if self.status(0) == "complete":
            outcome.faults.append("the poisonous run is complete")


def _run(scene: Poisoned) -> None:
    """A user's `run`, then `resume`."""
    for line in (("run", scene.puzzle), ("resume", "last")):
        running = scene.start(*line, "--json")
        code = 0
        if scene.poison == _ENDLESS:
            code = 128 + signal.SIGTERM
            scene.let_run(running)
            running.send(signal.SIGTERM)
        ended, status = running.finish(MOST_SECONDS), scene.scene.hakoiri.state().status
        told = "Traceback" not in ended.stderr and (code or "hakoiri: " in ended.stderr)
        # An endless run was stopped by a signal: its output says where.
        if ended.code == 0 or (code and ended.code != code) or status == "complete" or not told:
            scene.scene.outcome.faults.append(f"{status}: {ended}")


def _coordinator(scene: Poisoned) -> None:
    scene.queue()
    service = scene.start("coordinator", "--threads")
    scene.let_good_one_end(service)
    scene.end(service)
    scene.give_up("coordinator", "--threads", "--burst")
    scene.judge()


def _web_server(scene: Poisoned) -> None:
    """The server on the web; it answers before and after."""
    scene.queue()
    server = Server(scene.start("serve", *ADDRESS))
    with closing(server.client):
        scene.let_good_one_end(server.process)
        if (answer := server.client.get(f"/api/runs/{scene.runs[0]}")).status_code != 200:
            scene.scene.outcome.faults.append(f"GET of the poisonous run: {answer}")
    scene.end(server.process)
    scene.judge()


def _workers(scene: Poisoned) -> None:
    """Two workers and a coordinator, which must live although the puzzle ends the workers."""
    scene.scene.farm(hosts=0)
    host = scene.start("worker", "-n", "2")
    client = scene.scene.one_redis.client
    wait_until(lambda: len(living_workers(client)) == 2, MOST_SECONDS, "the workers")
    scene.queue()
    # Only the workers are in a control group with a limit.
    scene.program, service = HAKOIRI, scene.start("coordinator")
    scene.let_good_one_end(service)
    scene.end(service)
    scene.give_up("coordinator", "--burst")
    wait_until(lambda: len(living_workers(client)) == 2, MOST_SECONDS, "two workers after it")
    scene.end(host)
    scene.judge()


_WAYS: Mapping[str, Callable[[Poisoned], None]] = {
    "run": _run,
    "coordinator": _coordinator,
    "web server": _web_server,
    "workers": _workers,
}
_ALL = (*POISONS, _HUNGRY)


class Poison(Part):
    """A trial is a poisonous puzzle, driven by a run, a coordinator, the web server or workers."""

    name, usual, short = "poison", 4 * len(_ALL), (2,)
    headings = ("who computes its moves", "the puzzle")
    measures: ClassVar = {
        "harms": Measure("poisonous runs"),
        "good": Measure("good runs behind them, complete and right"),
        "waited": Measure("seconds these took", most=True),
    }
    text = f"""\
A user's puzzle ends the process that computes its moves (`os._exit(0)`, `SystemExit`, another `BaseException`, SIGSEGV,
SIGABRT, SIGKILL), asks for more memory than there is, fills a control group of {_LIMIT_MB} MB, or never returns.
`run` and `resume` of it must end with one line that gives the reason, and never with 0; where the puzzle never returns,
SIGTERM stops them. Queued before a good run, it must not end the coordinator, the web server, the workers or their
supervisor. The good run must be complete and right (where the puzzle never returns, as soon as its run is cancelled),
and the poisonous run must fail in the end."""

    def case_of(self, number: int) -> str:
        return pair_of(number, _WAYS, _ALL)

    def run(self, trial: Trial) -> Outcome:
        outcome, chance = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0)), trial.chance()
        way, poison = outcome.case.split(" / ")
        good = _GOOD_FOR_WORKERS if way == "workers" else _GOOD
        scene = Scene(chance.choice(good), undisturbed_in(self.place), self.place / trial.folder, chance, outcome)
        with _program(scene.place, poison) as program, scene.ended:
            _WAYS[way](Poisoned(scene, poison, program))
        outcome.figures["harms"] += 1
        return outcome


@contextmanager
def _program(place: Path, poison: str) -> Iterator[Path]:
    """The program to start; for a puzzle that takes all memory one in a control group with a limit."""
    if poison != _HUNGRY:
        yield HAKOIRI
        return
    with Group(place.parent.name, _LIMIT_MB) as group:
        yield entering(group.folder, place / "hakoiri")
