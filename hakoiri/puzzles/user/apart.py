"""Protection against a user's puzzle that ends its process: by ``os._exit``, or by a crash of code that it calls.

A program that must report such an end calls `prefer`. Then the first file of a user is not executed; `StartAgain` is
raised instead, so that the caller starts the same program again in a process of its own.
"""


class StartAgain(BaseException):
    """A user's file was about to be executed in a process that must outlive it."""


_preferred = False


def prefer(wanted: bool) -> None:
    """Set whether this process must outlive the code that it executes."""
    global _preferred  # noqa: PLW0603
    _preferred = wanted


def require() -> None:
    """Return if a user's file may be executed here; else raise `StartAgain`."""
    if _preferred:
        raise StartAgain
