"""What the system says of a file or folder is a message that names it, a full disk one of its own kind."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.base.errors import InputError, NoRoomError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of a write that are nobody's mistake."""


@contextmanager
def room_for(written: Path | str) -> Iterator[None]:
    """Name what was being written where a disk or its quota is full, or takes nothing more.

    Raises:
        NoRoomError: that is so.

    """
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise NoRoomError(error.filename or written, os.strerror(error.errno)) from error


@contextmanager
def refusing(path: Path, option: str = "") -> Iterator[None]:
    """Make what the system says of a path a message.

    Raises:
        InputError: says it; if the disk is full, it is a `NoRoomError`.

    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise NoRoomError(f"{option}{path}", os.strerror(error.errno)) from error
        raise InputError(f"{option}{path}: {error.strerror}") from error
