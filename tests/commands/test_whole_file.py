"""Files of `--out`: checked before the work, written as a whole."""

import os
from pathlib import Path

import pytest

from sim.commands.whole_file import check_out, write_text
from sim.errors import InputError


def test_a_new_file_in_a_folder_can_be_made(tmp_path: Path) -> None:
    check_out(tmp_path / "new.toml", force=False)
    assert not [*tmp_path.iterdir()]


def test_a_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text("mine")
    check_out(path, force=True)
    with pytest.raises(InputError, match=r"old\.toml: exists; give a new file, or --force"):
        check_out(path, force=False)


@pytest.mark.parametrize("force", [False, True])
def test_places_that_take_no_file_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    with pytest.raises(InputError, match="is a folder; give a file"):
        check_out(tmp_path, force=force)
    with pytest.raises(InputError, match=r"new\.toml: no such folder: .*none"):
        check_out(tmp_path / "none" / "new.toml", force=force)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written to"):
        check_out(tmp_path / "new.toml", force=force)


def test_nothing_is_left_of_what_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"--out .*folder: Is a directory"):
        write_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
