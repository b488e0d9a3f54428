"""A full disk is a message that names the file."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.errors import NoRoomError

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
