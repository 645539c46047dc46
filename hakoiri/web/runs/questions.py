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
from hakoiri.storage.engine.files import Given
from hakoiri.storage.ledger.lock import holder_of, interrupt_holder, locked
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import ANSWERING_PREFIX, HOLDER_FILE, questions_folder
from hakoiri.web.settings import Settings
from hakoiri.worker.machine import REDIS, start_child

_ANSWER, _SAID = "answer", "said"
_OURS = "hakoiri: "
_MOST_SAID = 2_000
#: Digits of the run's identity (`storage.ledger.manifest`) in a question's number, and of the question itself.
_DIGITS = 16
#: The most bytes of an answer.
_MOST_BYTES = 1 << 28
#: The delay before a failed question is tried again, and the seconds that the server waits at its end for processes.
_SAME_SECONDS, _GRACE_SECONDS = 30.0, 0.3
#: The most requests of a process that wait for their turn, and the pause between two looks for a free place.
_MOST_WAITING, _TURN_SECONDS = 8, 0.1
_LATER = "ask again later, or cancel one"
QuestionStatus = Literal["running", "answered", "failed"]


class BusyError(RunError):
    """Too many long questions are being answered."""


@dataclass(frozen=True)
class LongQuestion:
    """A question about a run of a data directory, by its number in addresses.

    `words` are its command, `ending` is that of the file it writes.
    """

    data: Path
    run: str
    number: str
    words: tuple[str, ...] = ()
    ending: str = ""

    @property
    def folder(self) -> str:
        """Its folder in the data directory."""
        return f"{questions_folder(self.run)}/{self.number}"

    @property
    def holder(self) -> str:
        """The lock file, in the data directory, of the process that answers."""
        return f"{self.folder}/{HOLDER_FILE}"

    @property
    def is_running(self) -> bool:
        """Return whether a process answers it."""
        return holder_of(self.data, self.holder) is not None

    @property
    def answer(self) -> dict[str, Any] | None:
        """The answer; ``None`` before it is complete."""
        return self._object_in(_ANSWER) or None

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
            "words": self._object_in(HOLDER_FILE).get("words", []),
            "status": status,
            "headline": lines[-1] if lines and status == "running" else "",
            "reason": failed if status == "failed" else "",
            "answer": self.answer if status == "answered" else None,
        }

    @property
    def file(self) -> Path:
        return self.data / self.folder / f"{self.words[0]}.{self.ending}"

    @property
    def has_to_begin(self) -> bool:
        """Return whether it lacks its answer or file, no process answers it, and it has not just failed."""
        status = self.status
        if status == "failed" and any(line.startswith(_OURS) for line in self._said()):
            return time.time() - (self.data / self.folder / _SAID).lstat().st_mtime >= _SAME_SECONDS
        # A symbolic link was not written by the command.
        lost = self.ending and (self.file.is_symlink() or not self.file.exists())
        return status == "failed" or (status == "answered" and bool(lost))

    def stop(self) -> None:
        """Interrupt the process that answers; proved bounds of a diameter are kept as a run."""
        interrupt_holder(self.data, self.holder)

    def _said(self) -> list[str]:
        with suppress(OSError, DamagedError), Given(self.data).open(f"{self.folder}/{_SAID}", "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_SAID))
            return str(file.read(_MOST_SAID), "utf-8", "replace").splitlines()
        return []

    def _object_in(self, name: str) -> dict[str, Any]:
        """Return the JSON object in a file; an empty one if the file is missing or incomplete."""
        with suppress(OSError, ValueError, RecursionError, DamagedError):
            found = json.loads(Given(self.data).read(f"{self.folder}/{name}", _MOST_BYTES))
            return found if isinstance(found, dict) else {}
        return {}


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
        #: A ticket for each request that waits for its turn, the first one first.
        self._waiting, self._turn_seconds = list[object](), settings.turn_seconds
        self._closing = threading.Event()

    def named(self, run: str, identity: str, state: State, asked: Long, ending: str = "") -> LongQuestion:
        """Return the question for the run of this identity in this state; with an `ending`, one that writes a file."""
        given = {name: value for name, value in asked.options.items() if value is not None and value is not False}
        words = (
            asked.command, *(f"--{name}" if value is True else f"--{name}={value}" for name, value in given.items())
        )  # fmt: skip
        when = json.dumps([words, ending, state.digest, state.status, state.depth, state.session])
        number = identity[:_DIGITS] + sha256(when.encode()).hexdigest()[:_DIGITS]
        return LongQuestion(self._data, run, number, words, ending)

    def begin(self, question: LongQuestion) -> None:
        """Start a process that answers, if needed, once it is the question's turn and a place is free.

        Raises `BusyError` if too many questions wait already, or if it has waited for too long.
        """
        if not question.has_to_begin:
            return None
        if len(self._waiting) >= _MOST_WAITING:
            raise BusyError(f"{_MOST_WAITING} long questions wait already; {_LATER}")
        ticket, latest = object(), time.monotonic() + self._turn_seconds
        self._waiting.append(ticket)
        try:
            while True:
                try:
                    if self._waiting[0] is ticket:
                        return self._begin_now(question)
                except BusyError:
                    if time.monotonic() >= latest:
                        raise
                if self._closing.wait(_TURN_SECONDS) or time.monotonic() >= latest:
                    raise BusyError(f"this long question has waited for others; {_LATER}")
        finally:
            self._waiting.remove(ticket)

    def _begin_now(self, question: LongQuestion) -> None:
        with self._lock:
            if question.has_to_begin:
                if question.ending and question.file.is_symlink():
                    # Else the command would write through the link.
                    Given(self._data).unlink(f"{question.folder}/{question.file.name}")
                self.start(question)

    def known(self, run: str, number: str, identity: str) -> LongQuestion:
        """Return a question that the run of this identity was asked before; raise `UnknownRunError` for others."""
        question = LongQuestion(self._data, run, number)
        is_there = number.isalnum() and (self._data / question.holder).exists()
        if not is_there or number[:_DIGITS] != identity[:_DIGITS]:
            raise UnknownRunError(f"run {run} has no question {number!r}", Hint("status", run))
        return question

    def close(self) -> None:
        """Interrupt the processes that this one started, and wait a moment.

        One that commits the proved bounds of a diameter may take longer: it ends by itself.
        """
        self._closing.set()
        for process in self._answering:
            process.send_signal(signal.SIGINT)
        latest = time.monotonic() + _GRACE_SECONDS
        for process in self._answering:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, latest - time.monotonic()))

    def start(self, question: LongQuestion) -> None:
        """Start the process that answers, unless another one does."""
        self._answering = [process for process in self._answering if process.poll() is None]
        with translated(self._data / question.folder), ExitStack() as files:
            place = self._place(files)
            (given := Given(self._data)).make_folder(question.folder)
            command, *words = question.words
            words += [f"--{'film' if command == 'path' else 'to'}={question.file}"] if question.ending else []
            with given.open(question.holder, "a+", "utf-8") as holder:
                if not locked(holder):  # Another process answers it.
                    return
                answer, said = (
                    files.enter_context(given.open(f"{question.folder}/{name}", "wb")) for name in (_ANSWER, _SAID)
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
            place = files.enter_context(Given(self._data).open(f"{ANSWERING_PREFIX}{number}", "a"))
            if locked(place, tries=1):
                return place
        raise BusyError(f"{self._most} long questions are in progress, the limit of this server; {_LATER}")
