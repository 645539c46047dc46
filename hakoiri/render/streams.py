"""The standard streams: keeps results apart from all other output, and handles faulty streams."""

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout, suppress
from typing import Any, TextIO

from hakoiri.errors import visible, visible_lines

#: Characters of drawings, and their replacements on a stream that lacks them.
_DRAWN = "─│┌┐└┘├┤┬┴┼█▀▒●○×·…—–"  # noqa: RUF001
_PLAIN = "-|+++++++++##%*ox..--"
_LOOKALIKES = dict(zip(_DRAWN, _PLAIN, strict=True))
_ERRORS = "hakoiri.lookalike"
_STDOUT, _STDERR = 1, 2

#: The original stdout, while other output is redirected.
_results: list[TextIO] = []


def results() -> TextIO:
    """Return the stream for results: stdout as it was when the command began."""
    return _results[-1] if _results else sys.stdout


@contextmanager
def results_apart() -> Iterator[None]:
    """While the block runs, send all other output, such as that of a user's puzzle, to stderr."""
    with _own_descriptor(sys.stdout) as stream:
        _results.append(stream)
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            _results.pop()


@contextmanager
def _own_descriptor(stream: TextIO) -> Iterator[TextIO]:
    """Yield stdout on a private descriptor: programs and libraries called by a puzzle write to the usual one.

    If stdout is not a file, it is yielded unchanged.
    """
    try:
        usual = stream.fileno() == _STDOUT
    except OSError:
        usual = False
    if not usual:
        yield stream
        return
    stream.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    own = _results_to(kept, stream, closefd=True)
    try:
        yield own
        own.flush()
    finally:
        os.dup2(kept, _STDOUT)
        with suppress(OSError):  # What could not be written has been said.
            own.close()


def print_line(text: str) -> None:
    """Print a result, with its control characters made visible."""
    print(visible_lines(text), file=results())


def print_error(text: object) -> None:
    """Print an error on stderr in one line."""
    print(f"hakoiri: {visible(str(text))}", file=sys.stderr)


class _Stdout(io.FileIO):
    """The stream for results. If the reader of a pipe (head, less) leaves, the command ends with exit code 0."""

    def write(self, data: Any) -> int:
        """Return the number of bytes handled."""
        try:
            return super().write(data)
        except BrokenPipeError:
            # Nothing may be flushed into the pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise SystemExit(0) from None


def unread(allowed: bool) -> AbstractContextManager[None]:
    """Return a context for printing faults: if `allowed`, a reader that leaves does not change the exit code."""
    return suppress(SystemExit) if allowed else nullcontext()


def _results_to(descriptor: int, like: TextIO, closefd: bool) -> TextIO:
    buffer = io.BufferedWriter(_Stdout(descriptor, "w", closefd=closefd))
    return io.TextIOWrapper(buffer, like.encoding, like.errors, line_buffering=os.isatty(descriptor))


class _Dropping(io.FileIO):
    """A file that drops what it cannot write: on a full disk, or into a pipe without a reader."""

    def write(self, data: Any) -> int:
        """Return the number of bytes handled."""
        try:
            return super().write(data)
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Prepare the standard streams, whatever the caller made of them.

    Open closed streams on the null device, and replace characters that a stream lacks by plain ones. Drop progress and
    log lines that cannot be written to stderr: no service ends because its log fails.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Opened in this order, they get the descriptors of the closed ones.
        # IMPORTANT: never closed again, else a file of ours gets the descriptor, and log lines are written into it.
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error(_ERRORS, _lookalike)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = _results_to(sys.stdout.fileno(), sys.stdout, closefd=False)
    if isinstance(sys.stderr, io.TextIOWrapper):
        buffer = io.BufferedWriter(_Dropping(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = io.TextIOWrapper(buffer, sys.stderr.encoding, _ERRORS, line_buffering=True)


def drop_stdout() -> None:
    """Discard further output to stdout: its reader has left, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), results().fileno())


def _lookalike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_LOOKALIKES.get(character, "?") for character in error.object[error.start : error.end]), error.end
