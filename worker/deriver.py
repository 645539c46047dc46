"""``python -m hakoiri.worker.deriver`` follows the reference rules of a puzzle for a host, beside its own process.

It receives the puzzle, then a message for each batch of keys, and answers each. A message is the length in eight bytes,
then the payload of the chunk of the task ``derive``, or of its result. It loads the host's files with puzzles.
"""

import os
import sys
from contextlib import suppress
from typing import IO

from hakoiri.worker.parent import end_with

MODULE = "hakoiri.worker.deriver"
#: The process that it ends with.
PARENT = "HAKOIRI_DERIVES_FOR"
_LENGTH_BYTES = 8


def write_message(pipe: IO[bytes], message: bytes) -> None:
    """Write a message."""
    pipe.write(len(message).to_bytes(_LENGTH_BYTES, "big") + message)
    pipe.flush()


def read_message(pipe: IO[bytes]) -> bytes:
    """Read a message; `EOFError` where the other end is closed."""
    length = pipe.read(_LENGTH_BYTES)
    message = pipe.read(int.from_bytes(length, "big")) if len(length) == _LENGTH_BYTES else b""
    if len(length) < _LENGTH_BYTES or len(message) < int.from_bytes(length, "big"):
        raise EOFError
    return message


def main() -> None:
    """Derive what comes until nothing does; what the puzzle prints goes to stderr."""
    # Here, for the process that starts this one imports the module, too.
    from hakoiri.puzzles.errors import PuzzleError
    from hakoiri.puzzles.registry import PuzzleSpec
    from hakoiri.puzzles.user.files import configured_files, load_file
    from hakoiri.storage.ledger.records import unpack_record
    from hakoiri.worker.tasks import do_task
    from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays

    end_with(int(os.environ[PARENT]))
    answers, asked = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)
    for path in configured_files():
        # A file that is gone may be that of another puzzle.
        with suppress(PuzzleError):
            load_file(path)
    try:
        puzzle = PuzzleSpec.from_dict(unpack_record(read_message(asked), "puzzle", b"")).build()
        while True:
            write_message(answers, pack_arrays(do_task("derive", puzzle, unpack_arrays(read_message(asked)), ())))
    except EOFError:
        return


if __name__ == "__main__":
    main()
