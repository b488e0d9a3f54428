"""What is being written, under a hidden name until it is whole.

It is locked as long as its process lives. The system lets go of the lock however the process ends, so that
what is not locked was left by one that was killed, and the next one that writes the same name removes it.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sim.base.errors import KeptElsewhereError

_MARK = re.compile(r"\.sim-[0-9a-f]{8}\.")
"""What hidden names begin with. No PID: those of two containers may be equal."""
_HERE, _NO_REPLACE, _EXCHANGE = -100, 1, 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}

OnRemoved = Callable[[Path], None]
"""Called with what a killed process had left, once it is removed."""


def is_building(path: Path) -> bool:
    """Tell the hidden name of something that is being written."""
    return _MARK.match(path.name) is not None


@contextmanager
def building(parent: Path, name: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """Yield what `make` makes under a hidden name, locked; at the end it is removed if it is still there.

    It stays if the block ends with `KeptElsewhereError`.

    Args:
        parent: the folder where it is made.
        name: what it will be called.
        make: makes an empty file or folder.

    Raises:
        OSError: it cannot be made.

    """
    kept, done = False, False
    while not done:
        path = parent / f".sim-{os.urandom(4).hex()}.{name}"
        try:  # from before it is made: Ctrl-C may come at any moment
            make(path)
            with locked(path, wait=True):
                if path.exists():  # else one that looked for what was left had the lock first
                    done = True
                    yield path
        except KeptElsewhereError:
            kept = True
            raise
        finally:
            if not kept:
                remove(path)


def remove_abandoned(parent: Path, name: str | None, on_removed: OnRemoved) -> None:
    """Remove what killed processes left in a folder of what was to get this name, or any if None."""
    try:
        found = sorted(filter(is_building, parent.iterdir()))
    except OSError:
        return
    for path in found:
        if name is None or _MARK.sub("", path.name, count=1) == name:
            with locked(path) as held:
                if held:
                    remove(path)
            if held and not path.exists():
                on_removed(path)


def ignore(_: Path) -> None:
    """Say nothing of what was removed."""


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Yield whether this process has the lock of a file or folder; it never has where there are no locks.

    Args:
        path: which.
        wait: until another process lets go of it.

    """
    try:
        import fcntl  # noqa: PLC0415 - not on every system

        descriptor = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            held = True
        except OSError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def rename_new(source: Path, target: Path) -> None:
    """Rename to a name that nothing has.

    Raises:
        FileExistsError: something has it; nothing is changed.
        OSError: it cannot be renamed.

    """
    if not _rename(source, target, _NO_REPLACE):
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        source.rename(target)


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders have each other's name at once; return False where the system cannot.

    Raises:
        OSError: it can, but not with these.

    """
    return _rename(one, other, _EXCHANGE)


def _rename(source: Path, target: Path, how: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(_HERE, os.fsencode(source), _HERE, os.fsencode(target), how) == 0:
        return True
    import ctypes  # noqa: PLC0415

    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _renameat2() -> Any:
    """Return the call of the C library, None where it has none."""
    import ctypes  # noqa: PLC0415 - only at the end of a run

    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None


def keep_beside(built: Path, target: Path, name: Callable[[int], str]) -> Path:
    """Rename what is whole to the first free name in the folder of `target`, or in its own; return the path.

    Args:
        built: a file or folder.
        target: where it was to go.
        name: returns a name for a number from 1 on.

    """
    for parent in dict.fromkeys((target.parent, built.parent)):
        number = 1
        while True:
            try:
                rename_new(built, parent / name(number))
            except FileExistsError:
                number += 1
            except OSError:
                break
            else:
                return parent / name(number)
    return built


def real(path: Path) -> Path:
    """Return a path without links, `.` and `..`.

    Raises:
        OSError: it is no path of a file system.

    """
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from error
