"""Long questions: each is a command that a child process answers once; the answer is kept.

IMPORTANT: a client's text becomes part of a command only as a number, as one of a few words, or as a key in hexadecimal
digits. It is never an option or the name of a file. Each question has a folder beside the runs, which every serving
process can read:

    holder   the process that answers, in the format of a run's lock; locked while that process lives
    answer   its stdout: one JSON object
    said     its stderr: progress and errors
    export.*, map.*, path.* the file that the command writes
"""

import json
import os
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal

from hakoiri.coordinator.errors import RunError, UnknownRunError
from hakoiri.coordinator.runs.catalogue import keepers_of
from hakoiri.coordinator.session.resources import LEAST_MEMORY
from hakoiri.errors import DamagedError, Hint
from hakoiri.questions.question import Long
from hakoiri.storage.engine.environment import translated
from hakoiri.storage.engine.files import open_inside
from hakoiri.storage.ledger.lock import holder_of, interrupt_holder, locked
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import HOLDER_FILE, answering_file, questions_folder
from hakoiri.web.settings import Settings
from hakoiri.worker.machine import REDIS, end, start_child

_ANSWER, _SAID = "answer", "said"
_OURS = "hakoiri: "
_MOST_SAID = 2_000
#: The delay before a failed question is tried again, and how long a process may take to end after SIGINT.
_SAME_SECONDS, _GRACE_SECONDS = 30.0, 5.0
QuestionStatus = Literal["running", "answered", "failed"]


class BusyError(RunError):
    """Too many long questions are being answered."""


@dataclass(frozen=True)
class LongQuestion:
    """A question about a run, by its folder; `words` are its command, `ending` is that of the file it writes."""

    folder: Path
    words: tuple[str, ...] = ()
    ending: str = ""

    @property
    def number(self) -> str:
        """Its identifier in addresses."""
        return self.folder.name

    @property
    def run(self) -> str:
        return self.folder.parent.name

    @property
    def is_running(self) -> bool:
        """Return whether a process answers it."""
        return holder_of(self.folder) is not None

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer; ``None`` before it is complete."""
        return _object_in(self.folder / _ANSWER) or None

    @property
    def status(self) -> QuestionStatus:
        # IMPORTANT: read the lock before the answer, which may be completed in between.
        if self.is_running:
            return "running"
        return "failed" if self.answer is None else "answered"

    def row(self) -> dict[str, Any]:
        status, lines = self.status, self._said()
        ours = [line.removeprefix(_OURS) for line in lines if line.startswith(_OURS)]
        failed = ours[-1] if ours else "it was stopped"
        return {
            "run": self.run,
            "question": self.number,
            "words": _object_in(self.folder / HOLDER_FILE).get("words", []),
            "status": status,
            "headline": lines[-1] if lines and status == "running" else "",
            "reason": failed if status == "failed" else "",
            "answer": self.answer if status == "answered" else None,
        }

    @property
    def file(self) -> Path:
        return self.folder / f"{self.words[0]}.{self.ending}"

    @property
    def has_to_begin(self) -> bool:
        """Return whether it lacks its answer or file, no process answers it, and it has not just failed."""
        status = self.status
        if status == "failed" and any(line.startswith(_OURS) for line in self._said()):
            return time.time() - (self.folder / _SAID).stat().st_mtime >= _SAME_SECONDS
        # A symbolic link was not written by the command.
        lost = self.ending and (self.file.is_symlink() or not self.file.exists())
        return status == "failed" or (status == "answered" and bool(lost))

    def stop(self) -> None:
        """Interrupt the process that answers; proved bounds of a diameter are kept as a run."""
        interrupt_holder(self.folder)

    def _said(self) -> list[str]:
        with suppress(OSError, DamagedError), open_inside(self.folder, _SAID, "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_SAID))
            return str(file.read(), "utf-8", "replace").splitlines()
        return []


class Questions:
    """The long questions of a data directory."""

    def __init__(self, settings: Settings) -> None:
        self._data, self._most = settings.data, settings.questions
        self._options = ["--data", str(settings.data.absolute()), "--json"]
        if settings.memory is not None:
            self._most = max(1, min(settings.questions, settings.memory // LEAST_MEMORY))
            self._options += ["--memory", f"{settings.memory // self._most >> 20}MB"]
        self._environment, self._redis = settings.for_children(), settings.redis
        self._lock = threading.Lock()
        self._answering: list[subprocess.Popen[bytes]] = []

    def named(self, run: str, state: State, asked: Long, ending: str = "") -> LongQuestion:
        """Return the question for the run in this state. With an `ending` the command writes a file."""
        given = {name: value for name, value in asked.options.items() if value is not None and value is not False}
        words = (
            asked.command, *(f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items())
        )  # fmt: skip
        identity = json.dumps([words, ending, state.digest, state.status, state.depth, state.session])
        number = sha256(identity.encode()).hexdigest()[:16]
        return LongQuestion(questions_folder(self._data / run) / number, words, ending)

    def begin(self, question: LongQuestion) -> None:
        """Start a process that answers, if needed; raise `BusyError` if too many run."""
        with self._lock:
            if question.has_to_begin:
                if question.ending and question.file.is_symlink():
                    # Else the command would write through the link.
                    question.file.unlink()
                self.start(question)

    def known(self, run: str, number: str) -> LongQuestion:
        """Return a question that was asked before; raise `UnknownRunError` for others."""
        question = LongQuestion(questions_folder(self._data / run) / number)
        if not number.isalnum() or not (question.folder / HOLDER_FILE).exists():
            raise UnknownRunError(f"run {run} has no question {number!r}", Hint("status", run))
        return question

    def close(self) -> None:
        """End the processes that this one started."""
        for process in self._answering:
            end(process, _GRACE_SECONDS, signal.SIGINT)

    def start(self, question: LongQuestion) -> None:
        """Start the process that answers, unless another one does."""
        self._answering = [process for process in self._answering if process.poll() is None]
        with translated(question.folder), ExitStack() as files:
            place = self._place(files)
            question.folder.mkdir(parents=True, exist_ok=True)
            command, *words = question.words
            words += [f"--{'film' if command == 'path' else 'to'}={question.file}"] if question.ending else []
            with open_inside(question.folder, HOLDER_FILE, "a+", "utf-8") as holder:
                if not locked(holder):  # Another process answers it.
                    return
                answer, said = (
                    files.enter_context(open_inside(question.folder, name, "wb")) for name in (_ANSWER, _SAID)
                )
                # Answers need the hosts that keep the run, but no workers.
                asks = self._redis is not None and keepers_of(self._data / question.run)
                environment = self._environment | ({REDIS: str(self._redis)} if asks else {})
                # The locks belong to the open files, so the child holds them until it ends.
                process = start_child(
                    "hakoiri", command, question.run, *words, *self._options,
                    env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=answer, stderr=said,
                    pass_fds=[holder.fileno(), place.fileno()], process_group=0,
                )  # fmt: skip
                self._answering.append(process)
                holder.truncate(0)
                holder.write(json.dumps({"words": [command], "pid": process.pid}))

    def _place(self, files: ExitStack) -> IO[str]:
        """Lock and return one of the places for processes that answer; raise `BusyError` if none is free."""
        for number in range(self._most):
            path = answering_file(self._data, number)
            place = files.enter_context(open_inside(path.parent, path.name, "a"))
            if locked(place, tries=1):
                return place
        raise BusyError(
            f"{self._most} long questions are in progress, the limit of this server; ask again later, or cancel one"
        )


def _object_in(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if the file is missing or incomplete."""
    with suppress(OSError, ValueError, DamagedError), open_inside(file.parent, file.name, "r", "utf-8") as opened:
        found = json.load(opened)
        return found if isinstance(found, dict) else {}
    return {}
