"""Real file systems full to their last blocks: questions, a run and a web server, none of which may die of it."""

from typing import ClassVar

from campaigns.mayhem.trials import ImpossibleError, Measure, Outcome, Part, Trial
from hakoiri.storage.names import SCRATCH_PREFIX
from tests.support.commands import Finished, Hakoiri
from tests.support.disks import FILE_SYSTEMS, FILLER, fill_disk, mounted_disk
from tests.support.web import ADDRESS, ENVIRONMENT, Server

_SIZE, _MOST_LEFT = 100_000_000, 1 << 16
#: What a trial is: a file system, and how many bytes of it are left, in steps of its blocks.
_TRIALS = [(kind, left) for kind, block in FILE_SYSTEMS.items() for left in range(0, _MOST_LEFT + 1, block)]
_PUZZLE = ("tiles", "-o", "rows=2", "-o", "columns=3")
#: The first two, and the third, need layers of their own on disk.
_QUESTIONS = ("diameter last", "diameter last --all", "path last --from 123/45. --to .12/345", "layers last", "runs")
_REFUSED = ("has no room", "is full", "is too full", "No space left on device")


class Full(Part):
    """A trial is a file system of 100 MB with so many bytes left."""

    name, usual, short = "full", len(_TRIALS), (1, 17)
    headings = ("file system",)
    measures: ClassVar = {"asked": Measure("asked"), "refused": Measure("refused with the reason")}
    text = """\
A tmpfs and ext4 on loop devices, of 100 MB each, are filled until 0 to 64 kB are left, in steps of their blocks. A
process that maps a file and touches a block without room on the disk would be killed by SIGBUS. Each question, a new
run, and GET of a diameter must be answered, or refused with one line that names the disk. No process may die, and no
scratch folder may be left. With room again, each answer must be right."""

    def case_of(self, number: int) -> str:
        return _TRIALS[number % len(_TRIALS)][0]

    def run(self, trial: Trial) -> Outcome:
        kind, left = _TRIALS[trial.number % len(_TRIALS)]
        outcome = Outcome(kind, {"asked": 0, "refused": 0})
        hakoiri = Hakoiri(self.place / trial.folder)
        hakoiri.data.mkdir(parents=True)
        try:
            with mounted_disk(kind, hakoiri.data, _SIZE) as why:
                if why:
                    raise ImpossibleError(f"no {kind} can be mounted here: {why}")
                _ask_all(hakoiri, left, outcome)
                hakoiri.close()
        finally:
            hakoiri.close()
        return outcome


def _ask_all(hakoiri: Hakoiri, left: int, outcome: Outcome) -> None:
    run = hakoiri.data / hakoiri.ask("run", *_PUZZLE, "--name", "tiles")["run"]
    server = Server(hakoiri.start("serve", *ADDRESS, env=ENVIRONMENT))
    diameter = f"/api/runs/{run.name}/components/0/diameter"
    for words in (*_QUESTIONS, "run tiles -o rows=2 -o columns=2 --name other"):
        fill_disk(hakoiri.data, left)
        _judge(hakoiri(*words.split(), "--json", check=False), outcome)
    fill_disk(hakoiri.data, left)
    outcome.figures["asked"] += 1
    status = server.client.get(diameter).status_code
    outcome.figures["refused"] += status == 507
    if status not in (200, 507):
        outcome.faults.append(f"GET of a diameter: {status}")
    if scratch := [path.name for path in run.glob(f"{SCRATCH_PREFIX}*")]:
        outcome.faults.append(f"left behind: {scratch}")
    (hakoiri.data / FILLER).unlink()
    found = hakoiri.ask("diameter", "tiles")["diameter"], server.client.get(diameter).json().get("diameter")
    server.client.close()
    if found != (21, 21):
        outcome.faults.append(f"with room again: {found}")


def _judge(ended: Finished, outcome: Outcome) -> None:
    outcome.figures["asked"] += 1
    outcome.figures["refused"] += ended.code == 1
    if ended.code and not (ended.code == 1 and any(words in ended.stderr for words in _REFUSED)):
        outcome.faults.append(f"{ended}"[:800])
