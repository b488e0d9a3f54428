"""Comparisons and sweeps as a user holds them."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.figure import Figure

from sim.base.errors import InputError
from sim.experiments.comparison import Comparison, Sweep, to_show
from sim.runs import comparison, sweep
from sim.runs.columns import summary_frame
from tests.runs.comparisons import swept, two_points


def shown() -> Comparison:
    return to_show(two_points())


def one_key() -> Sweep:
    found = to_show(
        sweep.Sweep("agg8", swept("agg8", {12: [1.0, 2.0], 20: [3.0, 5.0]}), ["workload.sessions"])
    )
    assert isinstance(found, Sweep)
    return found


def test_what_a_user_holds_is_the_runs_with_views() -> None:
    assert isinstance(shown(), comparison.Comparison)
    assert (shown().scenarios, shown().runs) == (two_points().scenarios, two_points().runs)
    assert isinstance(one_key(), Comparison)
    assert isinstance(one_key(), sweep.Sweep)
    assert (one_key().scenarios, one_key().sampled) == (("agg8",), ("workload.sessions",))


def test_a_comparison_shows_the_table_of_the_command_line() -> None:
    lines = repr(shown()).splitlines()
    assert lines[0].startswith("Compared with fast  ")
    assert lines[0].endswith("  means of seeds 0 to 2")
    assert [line.split()[0] for line in lines if line.startswith(("TTFT", "E2E"))] == ["TTFT"]
    assert shown()._repr_html_().startswith("<pre")


def test_a_sweep_shows_a_row_a_point() -> None:
    lines = repr(one_key()).splitlines()
    assert lines[0].startswith("agg8  The agg8 one  ")
    assert [line.split()[:2] for line in lines if line.lstrip().startswith(("12", "20"))] == [
        ["12", "1.50"],
        ["20", "4.00"],
    ]


def test_a_frame_has_a_row_a_run() -> None:
    assert shown().frame["ttft_s.p50"].tolist() == [run.numbers["ttft_s.p50"] for run in shown().runs]
    assert one_key().frame["ttft_s.p50"].tolist() == [1.0, 2.0, 3.0, 5.0]


def test_a_summary_is_of_the_numbers_that_are_named() -> None:
    pd.testing.assert_frame_equal(shown().summary("ttft_s.p50"), summary_frame(two_points(), ["ttft_s.p50"]))


def test_a_table_stands_for_all_numbers_in_it() -> None:
    assert set(shown().summary("prefill")["metric"]) == {
        "prefill.recomputation",
        "prefill.by_cause.elsewhere",
    }
    with pytest.raises(InputError, match="no number of the summary has this name"):
        shown().summary("prefil")


def test_pictures_are_drawn_where_they_are_told() -> None:
    ax = Figure().add_subplot()
    assert shown().plot("ttft_s.p50", ax=ax) is ax
    ax = Figure().add_subplot()
    assert one_key().plot("ttft_s.p50", x="workload.sessions", ax=ax) is ax


def test_a_picture_of_an_unknown_number_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^metric ttft_s\.p51: no number of the summary has this name; did you mean"
    ):
        shown().plot("ttft_s.p51")


def test_a_key_that_was_not_swept_is_no_axis() -> None:
    with pytest.raises(InputError, match=r"x 'seed': was not swept; swept are workload\.sessions"):
        one_key().plot("ttft_s.p50", x="seed")


def test_reading_a_folder_loads_no_picture(tmp_path: Path) -> None:
    shown().save(tmp_path / "compared")
    script = """
import sys
from sim import load
assert load(sys.argv[1]).scenarios == ("fast", "slow")
print(*(name for name in sys.modules if name.startswith(("matplotlib", "seaborn", "sim.show.pictures"))))
"""
    command = [sys.executable, "-c", script, tmp_path / "compared"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == ""
