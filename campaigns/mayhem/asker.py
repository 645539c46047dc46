"""A process that answers, whatever becomes of it."""

from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from tests.support.forking import SERVER

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


class Asker(Generic[_Question, _Answer]):
    """Has a function answer in another process, within so many seconds; in a new one when a question has killed it."""

    def __init__(self, answer: Callable[[_Question], _Answer], seconds: float) -> None:
        self._answer, self._seconds = answer, seconds
        self._process: Any = None

    def ask(self, question: _Question) -> _Answer | str:
        """The answer; or how the process died."""
        if self._process is None:
            self._ours, theirs = Pipe()
            self._process = SERVER.Process(target=_serve, args=(self._answer, theirs), daemon=True)
            self._process.start()
            theirs.close()
        self._ours.send(question)
        try:
            if self._ours.poll(self._seconds):
                found: _Answer = self._ours.recv()
                return found
            self.close()
            return f"no answer after {self._seconds:.0f} s"
        except EOFError:
            self._process.join()
            code, self._process = self._process.exitcode, None
            return f"died of {code}"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _serve(answer: Callable[[Any], Any], questions: Connection) -> None:
    while True:
        questions.send(answer(questions.recv()))
