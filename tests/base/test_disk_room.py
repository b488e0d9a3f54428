"""A full disk is a message; what else goes wrong stays what it is."""

import errno

import pytest

from sim.base.disk_room import room_for
from sim.base.errors import NoRoomError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS])
def test_what_was_being_written_is_named(number: int) -> None:
    with pytest.raises(NoRoomError, match=r"^out: "), room_for("out"):
        raise OSError(number, "full")


def test_a_file_that_the_error_names_is_meant() -> None:
    with pytest.raises(NoRoomError, match=r"^other\.json: No space left on device$"), room_for("out"):
        raise OSError(errno.ENOSPC, "full", "other.json")


def test_other_errors_of_the_system_stay_what_they_are() -> None:
    with pytest.raises(PermissionError), room_for("out"):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_advice_stands_at_the_end() -> None:
    error = NoRoomError("a.png", "No space left on device").advised("3 runs kept")
    assert str(error) == "a.png: No space left on device; 3 runs kept"
