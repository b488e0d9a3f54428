"""A journal keeps whole runs, whatever happens to the process that writes it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.base.errors import InputError
from sim.runs.journal import NAME, Journal, journal_in, read_journal
from sim.runs.run import Run


def made(value: float, error: str = "") -> Run:
    summary = None if error else {"ttft_s": {"p50": value, "p95": None}, "thin_percentiles": ["ttft_s.p50"]}
    return Run("agg8", {"seed": 0, "title": "Größe"}, {"seed": "0"}, 0, summary, ["a note"], error)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_run_comes_back_to_the_last_bit(tmp_path_factory: pytest.TempPathFactory, value: float) -> None:
    folder = tmp_path_factory.mktemp("journal")
    with Journal(folder) as journal:
        journal.add("a", made(value))
    assert read_journal(folder) == {"a": made(value)}


@pytest.mark.parametrize("kept", [1, 20, -2])
def test_a_line_that_was_cut_short_does_not_count(tmp_path: Path, kept: int) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", made(1))
        journal.add("b", made(2))
    path = tmp_path / NAME
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:kept])

    with Journal(tmp_path) as journal:
        assert journal.finished("a") == made(1)
        assert journal.finished("b") is None
        journal.add("c", made(3))
    assert read_journal(tmp_path) == {"a": made(1), "c": made(3)}


def test_a_line_that_was_changed_does_not_count(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", made(1.5))
        journal.add("b", made(2.5))
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b"1.5", b"7.5"))
    assert read_journal(tmp_path) == {"b": made(2.5)}


def test_the_last_run_of_a_fingerprint_counts_and_a_failed_one_is_not_finished(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", made(0, error="no room"))
        assert journal.finished("a") is None
        assert not journal.any_finished
        journal.add("a", made(1))
        assert journal.finished("a") == made(1)
    assert read_journal(tmp_path) == {"a": made(1)}


def test_one_process_at_a_time(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from sim.runs.journal import Journal; "
        "Journal(Path(sys.argv[1]))"
    )
    with Journal(tmp_path):
        other = subprocess.run(
            [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
        )
    assert "another process is writing there" in other.stderr
    Journal(tmp_path).__exit__(None, None, None)


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match=rf"--out {tmp_path}: has files but no {NAME}"), journal_in(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_nothing_is_left_if_nothing_ended_well(tmp_path: Path) -> None:
    with journal_in(tmp_path / "a" / "b") as journal:
        assert journal is not None
        journal.add("a", made(0, error="no room"))
    assert not (tmp_path / "a" / "b").exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Not a directory"), journal_in(tmp_path / "file" / "out"):
        pass
    with pytest.raises(InputError, match="file: is a file; give a folder"), journal_in(tmp_path / "file"):
        pass


def test_a_line_of_another_version_does_not_count(tmp_path: Path) -> None:
    run = json.dumps({"fingerprint": "a", "scenario": "agg8", "price": 3})
    (tmp_path / NAME).write_text(f'{{"crc32": {crc32(run.encode())}, "run": {run}}}\n')
    with Journal(tmp_path) as journal:
        assert journal.finished("a") is None


def test_a_draw_comes_back(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.add("a", replace(made(0), draw=2))
    assert read_journal(tmp_path)["a"].draw == 2
