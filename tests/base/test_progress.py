"""The progress bar: on a terminal only."""

import io
import sys

import pytest

from sim.base.progress import count_bar, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("seed 0") as on_progress:
        assert on_progress is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_requests_simulated_time_and_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress_bar("seed 7") as on_progress:
        assert on_progress is not None
        on_progress(1234.5, 3, 6)
    shown = terminal.getvalue()
    for part in ("seed 7", "3/6 requests", "1,234 s simulated", "x real time"):
        assert part in shown
    assert capsys.readouterr().out == ""


def test_counting_in_a_pipe_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with count_bar("agg8", 3) as on_one_more:
        on_one_more()
    assert capsys.readouterr() == ("", "")


def test_counting_on_a_terminal_shows_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with count_bar("agg8, agg4", 3) as on_one_more:
        on_one_more()
        on_one_more()
    for part in ("agg8, agg4", "2/3", "runs", "left"):
        assert part in terminal.getvalue()
