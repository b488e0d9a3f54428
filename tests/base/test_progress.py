"""The progress bar: on a terminal only."""

import io
import sys
from pathlib import Path

import pytest

from sim.base import progress
from sim.base.progress import Pace, byte_bar, count_bar, progress_bar


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
    for part in ("seed 7", "3/6 requests", "50 %", "1,234 s simulated"):
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
    for part in ("agg8, agg4", "2/3 runs"):
        assert part in terminal.getvalue()


def test_what_an_earlier_call_had_kept_is_no_pace() -> None:
    times = iter([0.0, *(place / 1000 for place in range(1, 101)), 10.1, 20.1])
    pace = Pace(lambda: next(times))
    for _ in range(100):
        pace.tick()
    assert (pace.left(5), pace.rate()) == ([], [])
    pace.tick()
    assert (pace.left(5), pace.rate()) == (["about 50 s left"], ["6 a minute"])
    pace.tick()
    assert (pace.left(3), pace.left(0)) == (["about 30 s left"], [])


def test_nobody_says_what_is_left_before_anybody_can() -> None:
    times = iter([0.0, 0.5, 1.0, 2.5])
    pace = Pace(lambda: next(times))
    pace.tick()
    assert (pace.left(9), pace.rate()) == ([], ["2 a second"])
    pace.tick()
    pace.tick()
    assert pace.left(6) == ["about 5 s left"]


def test_one_bar_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "LONG_BYTES", 1)
    long = tmp_path / "long"
    long.write_bytes(bytes(100))
    with count_bar("outer", 3) as on_one_more:
        on_one_more()
        with byte_bar("inner", [long]) as more:
            more(2 << 20)
            bar = progress._Shown.bar
            assert bar is not None
            assert [(task.description, task.visible) for task in bar.tasks] == [
                ("outer", False),
                ("inner", True),
            ]
            assert bar.tasks[1].fields["state"].startswith("2.097 MB of 100 B, ")
        assert [(task.description, task.visible) for task in bar.tasks] == [("outer", True)]
    assert progress._Shown.bar is None


def test_a_narrow_terminal_gets_no_bar_and_as_many_words_as_it_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bar("seed 7") as on_progress:
        assert on_progress is not None
        on_progress(1234.5, 3, 6)
    shown = terminal.getvalue()
    assert "seed 7 3/6 requests, 50 %" in shown
    assert "real time" not in shown
    assert "…" not in shown
    assert "━" not in shown


def test_a_process_that_another_one_started_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress._Shown, "quiet", False)
    progress.be_quiet()
    with progress_bar("seed 0") as on_progress:
        assert on_progress is None
