"""Results are written as a whole or not at all."""

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sim.errors import InputError
from sim.folder import MARK, new_file, new_folder, room_for

Maker = Callable[[Path], AbstractContextManager[Path]]


def write(path: Path, content: str, *, replace: bool = False) -> None:
    with new_folder(path, replace=replace) as folder:
        assert folder != path
        assert not list(folder.iterdir())
        (folder / MARK).write_text(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_folder_appears_with_its_parents(tmp_path: Path) -> None:
    write(tmp_path / "deep" / "out", "1")
    assert (tmp_path / "deep" / "out" / MARK).read_text() == "1"
    assert names(tmp_path / "deep") == ["out"]


def test_an_empty_folder_may_be_there_already(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out", "1")
    assert names(tmp_path / "out") == [MARK]


def test_earlier_results_are_replaced_as_a_whole_and_only_when_allowed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "1")
    (out / "old.parquet").touch()
    with pytest.raises(InputError, match=r"out: is not empty; give a new folder, or --force"):
        write(out, "2")
    assert (out / MARK).read_text() == "1"
    write(out, "2", replace=True)
    assert names(out) == [MARK]
    assert (out / MARK).read_text() == "2"


def test_what_holds_no_results_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InputError, match=r"has no summary\.json and no comparison\.json, so it holds no earlier results"
    ):
        write(tmp_path, "1", replace=True)
    assert names(tmp_path) == ["thesis.tex"]


def test_a_file_or_an_unusable_parent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        write(tmp_path / "file", "1", replace=True)
    with pytest.raises(InputError, match=r"file/out: Not a directory"):
        write(tmp_path / "file" / "out", "1")


@pytest.mark.parametrize("error", [InputError("bad"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing_new_and_everything_old(tmp_path: Path, error: BaseException) -> None:
    write(tmp_path / "old", "1")

    def fail(path: Path) -> None:
        with new_folder(path, replace=True) as folder:
            (folder / MARK).write_text("half")
            raise error

    for name in ("old", "new"):
        with pytest.raises(type(error)):
            fail(tmp_path / name)
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old" / MARK).read_text() == "1"


# A file


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    path.write_text("old")
    with new_file(path) as building:
        assert building.suffix == ".gz"
        building.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["run.json.gz"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")

    def fail() -> None:
        with new_file(path) as building:
            building.write_text("half")
            raise InputError("bad")

    with pytest.raises(InputError, match="bad"):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


@pytest.mark.parametrize(
    ("place", "message"),
    [("none/run.json", "none/run.json: No such file"), (".", "is a folder; give a file")],
)
def test_a_place_for_no_file_is_named_before_anything_is_done(
    tmp_path: Path, place: str, message: str
) -> None:
    with pytest.raises(InputError, match=message), new_file(tmp_path / place):
        pytest.fail("must not come to this")


def test_a_file_without_a_name_is_refused() -> None:
    with pytest.raises(InputError, match="is a folder; give a file"), new_file(Path()):
        pytest.fail("must not come to this")


def test_a_device_is_never_replaced_by_a_file() -> None:
    with pytest.raises(InputError, match="/dev/null: is a device; give a file"), new_file(Path("/dev/null")):
        pytest.fail("must not come to this")
    assert Path("/dev/null").is_char_device()


# A full disk


@pytest.mark.parametrize("make", [new_file, lambda path: new_folder(path, replace=False)])
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, make: Maker) -> None:
    with pytest.raises(InputError, match="out: No space left on device"), make(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_other_errors_of_the_system_stay_what_they_are() -> None:
    with pytest.raises(PermissionError), room_for("out"):
        raise PermissionError(errno.EACCES, "Permission denied")
