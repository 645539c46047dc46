"""The code of a user's puzzle may end its process: by ``os._exit``, or by a crash of what it calls.

A program that has to say so afterwards calls `prefer`. Then the first file of a user is not executed; `StartAgain` is
raised instead, for whoever starts the same program again in a process of its own.
"""


class StartAgain(BaseException):
    """A file of a user was about to be executed in a process that must outlive it."""


_preferred = False


def prefer(wanted: bool) -> None:
    """Say whether this process must outlive what it executes."""
    global _preferred  # noqa: PLW0603
    _preferred = wanted


def require() -> None:
    """Return where a file of a user may be executed; else raise `StartAgain`."""
    if _preferred:
        raise StartAgain
