"""Files opened once, checked by their descriptor, and read from it: they cannot be exchanged in between.

A file is owned if it, and every directory on the way to it, belongs to this user or to root and cannot be written by
others. A directory in which only owners can rename entries (the sticky bit of ``/tmp``) may be written by others.
Groups count as others, but for the group that has this user as its only member.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOwnedError(PermissionError):
    """A file or directory that others can write."""


def read_named(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a regular file that the user has named, at most so many; links are followed.

    ``OSError`` for anything else.
    """
    with _regular(os.open(path, _READ), path) as file:
        return file.read(most)


def read_owned(path: Path) -> bytes:
    """Return the bytes of an owned regular file. Raises `NotOwnedError`, or ``OSError`` if it cannot be read."""
    place = path.resolve()
    with _folder(place.parent) as folder:
        # The way to it has no links: what is a link now was exchanged since.
        descriptor = os.open(place.name, _READ | os.O_NOFOLLOW, dir_fd=folder)
        with _regular(descriptor, path) as file:
            _require_owned(os.fstat(descriptor), path)
            return file.read()


def require_owned_directory(path: Path) -> None:
    """Raise `NotOwnedError` unless a directory is this user's own and cannot be written by others."""
    with _folder(path.resolve()) as folder:
        found = os.fstat(folder)
        if found.st_uid != os.geteuid() or found.st_mode & stat.S_IWOTH:
            raise NotOwnedError(errno.EPERM, "it belongs to another user, or other users may write to it", str(path))


@contextmanager
def _folder(place: Path) -> Iterator[int]:
    """Open an owned directory: each directory on the way is opened from the one before, and no link is followed."""
    descriptor, here = os.open(place.anchor, _FOLDER), Path(place.anchor)
    try:
        _require_owned(os.fstat(descriptor), here)
        for name in place.parts[1:]:
            inner, here = os.open(name, _FOLDER, dir_fd=descriptor), here / name
            os.close(descriptor)
            descriptor = inner
            _require_owned(os.fstat(descriptor), here)
        yield descriptor
    finally:
        os.close(descriptor)


def _regular(descriptor: int, path: Path) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def _require_owned(found: os.stat_result, path: Path) -> None:
    if found.st_uid not in (0, os.geteuid()):
        raise NotOwnedError(errno.EPERM, "it belongs to another user", str(path))
    by_group = found.st_mode & stat.S_IWGRP and not _is_private(found.st_gid)
    shared = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if (by_group or found.st_mode & stat.S_IWOTH) and not shared:
        raise NotOwnedError(errno.EPERM, "other users may write to it", str(path))


@cache
def _is_private(group: int) -> bool:
    """Return whether this user, or root, is the only member of a group, as with a private group per user."""
    with suppress(KeyError):
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
        return group == 0 or (found.gr_name == user and set(found.gr_mem) <= {user})
    return group == 0
