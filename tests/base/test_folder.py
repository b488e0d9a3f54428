"""Results are written as a whole or not at all."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import sim.base.building
from sim.base.errors import InputError, KeptElsewhereError, NoRoomError
from sim.base.folder import MARK, new_folder


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


# What appears while a run is made


def meanwhile(path: Path, change: Callable[[], object], *, replace: bool = False) -> KeptElsewhereError:
    def write_mine() -> None:
        with new_folder(path, replace=replace) as folder:
            (folder / MARK).write_text("mine")
            change()

    with pytest.raises(KeptElsewhereError) as raised:
        write_mine()
    return raised.value


@pytest.fixture(params=[True, False], ids=["renameat2", "rename"])
def _renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the system's call that exchanges names."""
    if not request.param:
        monkeypatch.setattr(sim.base.building, "_renameat2", lambda: None)


pytestmark = pytest.mark.usefixtures("_renames")


def test_what_appears_stays_and_the_results_are_kept_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    error = meanwhile(out, lambda: write(out, "theirs"))
    assert error.kept == tmp_path / "out-1"
    assert str(error) == (
        f"{out}: something appeared there meanwhile, and stays as it is; the results are kept in {out}-1"
    )
    assert (out / MARK).read_text() == "theirs"
    assert (tmp_path / "out-1" / MARK).read_text() == "mine"
    assert names(tmp_path) == ["out", "out-1"]


def test_three_at_once_lose_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    meanwhile(out, lambda: meanwhile(out, lambda: write(out, "first")))
    assert names(tmp_path) == ["out", "out-1", "out-2"]


def test_an_empty_folder_that_is_filled_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert meanwhile(out, (out / "thesis.tex").touch).kept == tmp_path / "out-1"
    assert names(out) == ["thesis.tex"]
    assert names(tmp_path / "out-1") == [MARK]


@pytest.mark.parametrize("change", ["new file", "changed file", "lost file", "other folder"])
def test_earlier_results_that_changed_meanwhile_are_not_replaced(tmp_path: Path, change: str) -> None:
    out = tmp_path / "out"
    write(out, "old")
    (out / "old.parquet").touch()

    def change_it() -> None:
        if change == "new file":
            (out / "notes.txt").touch()
        elif change == "changed file":
            (out / MARK).write_text("newer")
        elif change == "lost file":
            (out / "old.parquet").unlink()
        else:
            write(out, "theirs", replace=True)

    meanwhile(out, change_it, replace=True)
    assert (tmp_path / "out-1" / MARK).read_text() == "mine"
    wanted = {"new file": "old", "changed file": "newer", "lost file": "old", "other folder": "theirs"}
    assert (out / MARK).read_text() == wanted[change]
    assert (out / "notes.txt").exists() == (change == "new file")
    assert names(tmp_path) == ["out", "out-1"]


def test_earlier_results_that_went_meanwhile_leave_their_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "old")
    with new_folder(out, replace=True) as folder:
        (folder / MARK).write_text("mine")
        out.rename(tmp_path / "moved")
    assert (out / MARK).read_text() == "mine"
    assert (tmp_path / "moved" / MARK).read_text() == "old"


def test_a_place_that_the_system_refuses_at_the_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    out = tmp_path / "out"
    error = meanwhile(out, lambda: monkeypatch.setattr("sim.base.folder.rename_new", refuse))
    assert str(error).endswith(f"Device or resource busy; the results are kept in {out}-1")
    assert names(tmp_path) == ["out-1"]


# Odd places


def test_a_link_to_an_empty_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "1")
    assert names(tmp_path / "real") == [MARK]
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_nothing_makes_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("deep/real")
    write(tmp_path / "link", "1")
    assert names(tmp_path / "deep" / "real") == [MARK]


def test_the_empty_current_folder_is_filled_and_stays_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path(), "1")
    assert os.listdir() == [MARK]
    with pytest.raises(InputError, match="cannot be replaced as a whole: it is the current folder"):
        write(Path(), "2", replace=True)


def test_dots_and_slashes_are_resolved(tmp_path: Path) -> None:
    write(Path(f"{tmp_path}/none/../out/"), "1")
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["x" * 256, "x" * 250, "nul\0"])
def test_a_name_that_no_file_system_takes_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError), new_folder(tmp_path / name, replace=False):
        pytest.fail("must not come to this")
    assert not names(tmp_path)


@pytest.mark.parametrize("name", ["a\nb", "\udcff", "[red]", "{}", "%s", "-1"])
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, "1")
    meanwhile(tmp_path / "x" / name, lambda: write(tmp_path / "x" / name, "2"))
    assert names(tmp_path / "x") == [name, f"{name}-1"]


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="loop: Too many levels"):
        write(tmp_path / "loop", "1")


@pytest.mark.parametrize("error", [InputError("bad"), KeyboardInterrupt()])
def test_folders_on_the_way_go_again(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), new_folder(tmp_path / "a" / "b" / "out", replace=False):
        raise error
    assert not names(tmp_path)


# A full disk


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoRoomError, match="out: No space left"), new_folder(tmp_path / "out", replace=False):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_the_file_is_named_as_it_would_be_called(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(NoRoomError) as raised, new_folder(out, replace=False) as folder:
        raise NoRoomError(folder / "requests.parquet", "No space left on device")
    assert str(raised.value) == f"{out}/requests.parquet: No space left on device"
