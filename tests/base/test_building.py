"""What is being written has a hidden name, a lock while its process lives, and is removed once that ended."""

import subprocess
import sys
from pathlib import Path

import pytest

import sim.base.building
from sim.base.building import building, exchange, is_building, keep_beside, remove_abandoned, rename_new
from sim.base.errors import KeptElsewhereError


def test_it_is_there_during_the_block_and_gone_afterwards(tmp_path: Path) -> None:
    with building(tmp_path, "out", Path.mkdir) as path:
        assert is_building(path)
        assert path.is_dir()
        assert path.name.endswith(".out")
        (path / "file").touch()
    assert not [*tmp_path.iterdir()]


def test_it_stays_if_its_last_name_could_not_be_given(tmp_path: Path) -> None:
    def fail() -> None:
        with building(tmp_path, "out", Path.mkdir) as path:
            raise KeptElsewhereError("out", OSError(), path)

    with pytest.raises(KeptElsewhereError):
        fail()
    assert [is_building(path) for path in tmp_path.iterdir()] == [True]


def test_what_a_living_process_writes_is_not_removed(tmp_path: Path) -> None:
    removed: list[Path] = []
    with building(tmp_path, "out", Path.mkdir) as path:
        remove_abandoned(tmp_path, "out", removed.append)
        assert path.is_dir()
    assert not removed


@pytest.mark.parametrize("make", ["mkdir", "touch"])
def test_what_a_killed_process_left_is_removed_and_told(tmp_path: Path, make: str) -> None:
    script = (
        "import os, sys; from pathlib import Path; from sim.base.building import building\n"
        f"with building(Path(sys.argv[1]), 'out', Path.{make}): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    removed: list[Path] = []
    remove_abandoned(tmp_path, "other", removed.append)
    assert left.exists()
    remove_abandoned(tmp_path, "out", removed.append)
    assert removed == [left]
    assert not [*tmp_path.iterdir()]


def test_files_of_the_user_s_are_never_taken_for_such(tmp_path: Path) -> None:
    names = [
        ".out.12",
        ".sim-out",
        ".sim-12345678",
        "sim-0a1b2c3d.out",
        ".sim-0A1B2C3D.out",
    ]
    for name in names:
        (tmp_path / name).touch()
    remove_abandoned(tmp_path, None, lambda path: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("supported", [True, False])
def test_a_rename_never_takes_a_name_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, supported: bool
) -> None:
    if not supported:
        monkeypatch.setattr(sim.base.building, "_renameat2", lambda: None)
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    with pytest.raises(FileExistsError):
        rename_new(one, two)
    assert one.is_dir()
    rename_new(one, tmp_path / "three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["three", "two"]


def test_an_exchange_leaves_both(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    if not exchange(one, two):
        pytest.skip("the system cannot exchange names")
    assert (one.read_text(), two.read_text()) == ("2", "1")


def test_the_first_free_name_is_taken(tmp_path: Path) -> None:
    for name in ("built", "out", "out-1"):
        (tmp_path / name).mkdir()
    kept = keep_beside(tmp_path / "built", tmp_path / "out", "out-{}".format)
    assert kept == tmp_path / "out-2"
    assert kept.is_dir()


def test_a_folder_that_takes_no_name_leaves_it_beside_where_it_was_built(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    built = tmp_path / "here" / "built"
    built.mkdir()
    kept = keep_beside(built, tmp_path / "none" / "out", "out-{}".format)
    assert kept == tmp_path / "here" / "out-1"
