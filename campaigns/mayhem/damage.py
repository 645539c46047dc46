"""Damage to files: every question has its right answer, or is refused by name; no signal, no traceback, no hang."""

import json
import shutil
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
import psutil

from campaigns.mayhem.asker import Asker
from campaigns.mayhem.trials import Measure, Outcome, Part, Trial
from campaigns.mayhem.works import WORKS
from hakoiri.guests.nakuron.board import random_board
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.names import DATA_FILE, SPILL_FOLDER
from tests.support.commands import ROOT, Finished, Hakoiri, wait_until
from tests.support.harms import HARMS, PAGE, Harm, flip, told, truncate
from tests.support.process_setup import be_starved, stand_still

#: A question of a small run that takes so long hangs.
_MOST_SECONDS = 60.0
#: Besides what two answers may always differ in: who computed something, when, in how many pieces, how long it took.
_CLOCK = {"seconds", "processor_seconds", "processor", "sessions", "session", "updated", "created", "stored_bytes",
          "bytes", "progress", "certificate", "chunks", "chunks_done"}  # fmt: skip
#: How a run stands whose last commit is lost.
_UNFINISHED = ("queued", "running", "interrupted")


class Target(NamedTuple):
    """A run: the commands that make it, and what it is asked besides; ``RUN`` stands for what the last one made."""

    made: tuple[str, ...]
    questions: tuple[str, ...]


_BOARD = "/".join(random_board(8, 1, 4).lines())
_OTHER_CERTIFICATE = ROOT / "docs" / "reports" / "hardest-gap-7.json"
_LAYERS = ("layers RUN", "layers RUN --depth 3", "path RUN", "diameter RUN", "path RUN --to farthest")
TARGETS = {
    "explore": Target(("run tiles -o rows=2 -o columns=3",), _LAYERS),
    "explore, larger": Target(("run klotski --chunk 500",), (*_LAYERS, "distance RUN ABBC/ABBC/DEEF/DGHF/.IJ.")),
    "whole": Target(
        ("run sliding --from AABB/C..D --whole",), ("components RUN", "diameter RUN", "component-of RUN AABB/C..D")
    ),
    "directed": Target(("run gap -o ranks=4",), ("layers RUN", "path RUN", "components RUN --strong")),
    "tree": Target(("run magic-star -o points=6 -o solutions=keep",), ("solutions RUN", "layers RUN")),
    "study": Target(("study deals superpuzz --sizes 4 --deals 8 --seed 3",), ()),
    "boards": Target(("study boards --size 3x3 --pieces 2x1:*;1x1:* --empty 2",), ()),
    "hunt": Target(("hunt gap -o ranks=4 --legs 4 --seed 2",), ()),
    "optimise": Target((f"optimise nakuron --from {_BOARD} --width 20 --rounds 2",), ()),
    "sizes": Target(("study sizes pancakes --sizes 3..5",), ()),
    "eccentricities": Target(
        ("run sliding --from AABB/C..D", "diameter last --all --queue", "resume RUN"), ("diameter RUN",)
    ),
    "hardest": Target(("run tiles -o rows=2 -o columns=3", "hardest last"), ("layers RUN",)),
}


def _words(question: str, run: str) -> list[str]:
    return [run if word == "RUN" else word.replace(";", " ") for word in question.split()]


def _answer(asked: tuple[Path, list[list[str]]]) -> list[Finished] | str:
    """Return the answer to each question about a data directory."""
    data, questions = asked
    hakoiri = Hakoiri(data.parent)
    hakoiri.data = data
    try:
        return [_answered(hakoiri, words) for words in questions]
    except BaseException:
        return f"escaped: {' '.join(traceback.format_exc().split())[-600:]}"


def _answered(hakoiri: Hakoiri, words: list[str]) -> Finished:
    there = [word.replace("DATA", str(hakoiri.data)) for word in words]
    return hakoiri.here(*there, "--json", data=hakoiri.data, check=False)


class Sound(NamedTuple):
    """An undamaged data directory, the file that is to be damaged, and its questions with their right answers."""

    data: Path
    file: Path
    answers: dict[str, Any]


class Damage(Part):
    """A trial is one harm to one file, and some questions."""

    name, usual, short = "damage", 10_000, range(0, 15, 2)
    headings = ("file", "harm")
    measures: ClassVar = {
        "right": Measure("right answers"),
        "refused": Measure("refusals"),
        "older": Measure("of the commit before"),
        "mended": Measure("mended"),
        "took": Measure("seconds for its questions", most=True),
    }
    text = """\
Each trial does one harm to one file. A bit is flipped anywhere, or forty are, or among LMDB's own figures, the file
is cut off, a sector is zeroed, or a page replaces another. A certificate gets a field of another one, or another
puzzle's name. The files are data files of runs of every kind, a spill file of a layer under way, and certificates of
a deal and of a run. Then come questions, `verify`, or `resume` and `resume --repair`. Each must be answered as for
the undamaged file, or be refused by an error that names the damage. If the last commit is lost, the one before it
counts: the run says that it is unfinished, and may be resumed. No process may die of a signal, hang, or print a
traceback."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._sound: dict[str, Sound] = {}
        self._asker = Asker(_answer, _MOST_SECONDS)
        self._makers: dict[str, Callable[..., Sound]] = {
            **{f"data of {name}": partial(self._data_file, target) for name, target in TARGETS.items()},
            "spill file": self._spill_file,
            "certificate of a deal": partial(self._certificate, "hunt gap -o ranks=5 --legs 20 --seed 2 --certificate"),
            "certificate of a run": partial(self._certificate, "run pancakes -o n=6", "export last --to"),
        }

    def run(self, trial: Trial) -> Outcome:
        name = list(self._makers)[trial.number % len(self._makers)]
        harms = _OF_TEXT if name.startswith("certificate") else HARMS
        harm = harms[trial.number // len(self._makers) % len(harms)]
        outcome = Outcome(f"{name} / {str(harm.__name__).replace('_', ' ')}", dict.fromkeys(self.measures, 0))
        if name not in self._sound:
            self._sound[name] = self._makers[name](place=self.place / name)
        sound, chance, data = self._sound[name], trial.chance(), self.place / trial.folder
        shutil.copytree(sound.data, data)
        file = data / sound.file
        raw = bytearray(file.read_bytes())
        if len(raw) >= 2 * PAGE or harm in _OF_TEXT:
            harm(raw, np.random.default_rng(chance.getrandbits(32)))
        else:
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        file.write_bytes(raw)
        began = time.monotonic()
        asked = _chosen(list(sound.answers), chance)
        answers = self._asker.ask((data, [words.split("|") for words in asked]))
        outcome.figures["took"] = round(time.monotonic() - began, 3)
        if isinstance(answers, str):
            outcome.faults.append(f"{asked}: {answers}")
        else:
            _judge(outcome, sound, dict(zip(asked, answers, strict=True)))
        return outcome

    def close(self) -> None:
        self._asker.close()

    def _data_file(self, target: Target, place: Path) -> Sound:
        hakoiri = Hakoiri(place)
        run = ""
        for command in target.made:
            made = hakoiri.ask(*_words(command, run))
            run = made.get("distances", made["run"])
        asked = [_words(question, run) for question in ("status RUN", "runs", *target.questions)]
        return self._asked(hakoiri, Path(run) / DATA_FILE, [*asked, ["verify", run, "--seed", "1"], ["resume", run]])

    def _spill_file(self, place: Path) -> Sound:
        hakoiri, work = Hakoiri(place), WORKS["explore, spilled"]
        ways = (*work.line, *work.ways)
        running = hakoiri.start(*ways, before=_stand_still_starved)
        wait_until(lambda: psutil.Process(running.pid).status() == psutil.STATUS_STOPPED, what="a layer under way")
        running.kill()
        (file,) = sorted(hakoiri.run_directory().glob(f"{SPILL_FOLDER}/*"))[:1]
        interrupted = place / "interrupted"
        shutil.copytree(hakoiri.data, interrupted)
        sound = self._asked(hakoiri, file.relative_to(hakoiri.data), [["resume", hakoiri.run_directory().name]])
        return sound._replace(data=interrupted)

    def _certificate(self, *commands: str, place: Path) -> Sound:
        """The last command is to be told where it goes."""
        *before, last = [command.split() for command in commands]
        hakoiri, file = Hakoiri(place), Path("a-certificate.json")
        hakoiri.data.mkdir(parents=True)
        for words in (*before, [*last, str(hakoiri.data / file)]):
            hakoiri.ask(*words)
        return self._asked(hakoiri, file, [["verify", f"DATA/{file}", "--seed", "1"]])

    def _asked(self, hakoiri: Hakoiri, file: Path, questions: list[list[str]]) -> Sound:
        answers = self._asker.ask((hakoiri.data, questions))
        assert not isinstance(answers, str), answers
        right = {"|".join(words): _timeless(told(answer)) for words, answer in zip(questions, answers, strict=True)}
        assert None not in right.values(), right
        return Sound(hakoiri.data, file, right)


def exchange_field(raw: bytearray, chance: np.random.Generator) -> None:
    """A field of a certificate as another one has it, or the name of another puzzle."""
    fields, other = json.loads(raw), json.loads(_OTHER_CERTIFICATE.read_bytes())
    name = str(chance.choice(sorted(fields)))
    fields[name] = str(chance.choice(sorted(PUZZLES))) if name == "puzzle" else other[name]
    raw[:] = json.dumps(fields).encode()


#: What a text may come to.
_OF_TEXT: tuple[Harm, ...] = (flip, truncate, exchange_field)


def _stand_still_starved() -> None:
    """Have little memory, and stop where something of a layer is on disk, and nothing of it is merged."""
    be_starved()
    stand_still(30, "expanded")


def _chosen(questions: list[str], chance: Random) -> list[str]:
    """Draw the questions: the status and one other, then `verify`, or `resume` and a repair."""
    last = {words.partition("|")[0]: words for words in questions if words.startswith(("verify", "resume"))}
    asked = [words for words in questions if words not in last.values()]
    chosen = [*asked[:1], *chance.sample(asked[1:], min(len(asked), 1))]
    if "verify" in last and (len(last) == 1 or chance.random() < 0.5):
        return [*chosen, last["verify"]]
    return [*chosen, last["resume"], f"{last['resume']}|--repair"]


def _timeless(answer: Any) -> Any:
    """An answer without what the clock says."""
    if isinstance(answer, dict):
        return {name: _timeless(value) for name, value in answer.items() if name not in _CLOCK}
    return [_timeless(each) for each in answer] if isinstance(answer, list) else answer


def _judge(outcome: Outcome, sound: Sound, answers: dict[str, Finished]) -> None:
    """Each answer is right, or a refusal that names the damage, or that of the commit before the last."""
    older = False
    for question, answer in answers.items():
        right = sound.answers[question.removesuffix("|--repair")]
        try:
            found = _timeless(told(answer))
        except AssertionError as error:
            if older and "is not complete" in answer.stderr:
                outcome.figures["older"] += 1
            else:
                outcome.faults.append(f"{question}: {str(error)[:800]}")
            continue
        if found is None:
            outcome.figures["refused"] += 1
        elif found == right:
            outcome.figures["mended" if question.endswith("--repair") else "right"] += 1
        elif _is_of_before(question, found, right, older):
            outcome.figures["older"] += 1
            older = True
        else:
            differing = [name for name in found.keys() | right.keys() if found.get(name) != right.get(name)]
            told_of = [f"{name}: {str(found.get(name))[:90]}, not {str(right.get(name))[:90]}" for name in differing]
            outcome.faults.append(f"{question}: {'; '.join(told_of)}")


def _is_of_before(question: str, found: dict[str, Any], right: dict[str, Any], older: bool) -> bool:
    """Return whether this is a right answer of a run whose last commit is lost."""
    kind = question.partition("|")[0]
    if kind == "status":
        return found["status"] in _UNFINISHED
    if kind == "runs":
        return any(row["status"] in (*_UNFINISHED, "damaged") for row in found["runs"])
    if kind == "layers" and "layers" in found:
        return older and bool(found["layers"] == right["layers"][: len(found["layers"])])
    return kind == "verify" and older and found["ok"] is True
