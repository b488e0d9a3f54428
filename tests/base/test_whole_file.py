"""A file of results is there as a whole or not at all."""

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sim.base.errors import InputError, KeptElsewhereError, NoRoomError
from sim.base.whole_file import new_file, to_utf8, whole_file, write_text

Maker = Callable[[Path], AbstractContextManager[Path]]
MAKERS: list[Maker] = [whole_file, lambda path: new_file(path, replace=True)]
either = pytest.mark.parametrize("make", MAKERS)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@either
def test_a_file_appears_when_it_is_complete(tmp_path: Path, make: Maker) -> None:
    path = tmp_path / "run.json.gz"
    path.write_text("old")
    with make(path) as building:
        assert building.suffix == ".gz"
        building.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["run.json.gz"]


@either
def test_a_failure_leaves_the_old_file(tmp_path: Path, make: Maker) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")

    def fail() -> None:
        with make(path) as building:
            building.write_text("half")
            raise InputError("bad")

    with pytest.raises(InputError, match="bad"):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["run.json"]


@either
def test_a_link_is_followed(tmp_path: Path, make: Maker) -> None:
    (tmp_path / "link").symlink_to("real")
    with make(tmp_path / "link") as building:
        building.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@either
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("none/run.json", "none/run.json: no such folder: .*none"),
        (".", "is a folder; give a file"),
        ("file/run.json", "no such folder|Not a directory"),
        ("x" * 256, "File name too long"),
        ("nul\0", "null"),
    ],
)
def test_a_place_for_no_file_is_named_before_anything_is_done(
    tmp_path: Path, place: str, message: str, make: Maker
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message), make(tmp_path / place):
        pytest.fail("must not come to this")


@either
def test_a_file_without_a_name_is_refused(make: Maker) -> None:
    with pytest.raises(InputError, match="is a folder; give a file"), make(Path()):
        pytest.fail("must not come to this")


@either
def test_a_device_is_never_replaced_by_a_file(make: Maker) -> None:
    with pytest.raises(InputError, match="/dev/null: is a device; give a file"), make(Path("/dev/null")):
        pytest.fail("must not come to this")
    assert Path("/dev/null").is_char_device()


@either
def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, make: Maker) -> None:
    with pytest.raises(NoRoomError, match="out: No space left on device"), make(tmp_path / "out"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


# A new file


def test_a_file_is_replaced_only_when_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text("mine")
    with (
        pytest.raises(InputError, match=r"--out .*old\.toml: exists; give a new file, or --force"),
        new_file(path, replace=False, option="--out "),
    ):
        pytest.fail("must not come to this")


@pytest.mark.parametrize("existed", [True, False])
def test_a_file_that_appears_meanwhile_stays(tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "fit.toml"
    if existed:
        path.write_text("old")

    def meanwhile() -> None:
        with new_file(path, replace=True) as building:
            building.write_text("mine")
            path.write_text("theirs")

    with pytest.raises(KeptElsewhereError) as raised:
        meanwhile()
    assert path.read_text() == "theirs"
    assert raised.value.kept == tmp_path / "fit-1.toml"
    assert raised.value.kept.read_text() == "mine"
    assert names(tmp_path) == ["fit-1.toml", "fit.toml"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_file_is_told_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"), new_file(tmp_path / "a", replace=False):
        pytest.fail("must not come to this")


# Text


def test_half_of_a_surrogate_pair_is_escaped(tmp_path: Path) -> None:
    write_text(tmp_path / "a.json", '{"session": "ü\ud800"}')
    assert (tmp_path / "a.json").read_bytes() == '{"session": "ü\\ud800"}'.encode()
    assert to_utf8("ü") == "ü".encode()
