"""Warnings about times that are not alike."""

from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.runs.unlike import warnings_of
from sim.runs.unlike_times import unlike_times
from tests.runs.comparisons import made


def with_times(origin: str, preset: str | None = None, more: tuple[str, ...] = ()) -> Run:
    settings = {"timing": {"preset": preset}}
    return Run("agg8", settings, {}, 0, {}, [f"step times ({origin}): so and so", *more])


def test_a_roofline_beside_measured_times_is_said() -> None:
    tables, roofline = with_times("aiconfigurator"), with_times("roofline")
    (said,) = unlike_times([("4 x TP2", tables), ("1 x TP8", roofline), ("1 x TP8", roofline)])
    assert said.startswith("step times of 1 x TP8 are a roofline, without measurement: do not rank them")
    assert "with the others (aiconfigurator)" in said
    (said,) = unlike_times([(str(n), roofline) for n in range(6)] + [("tables", tables)])
    assert "of 0, 1, 2, 3 and 2 more are a roofline" in said


def test_decode_workers_count_as_well() -> None:
    half = with_times("aiconfigurator", more=("step times of decode workers (roofline): so and so",))
    (said,) = unlike_times([("1P TP2 + 1D TP8", half)])
    assert "of 1P TP2 + 1D TP8 are a roofline" in said


def test_times_of_one_kind_and_a_roofline_that_was_asked_for_are_not() -> None:
    tables, roofline = with_times("aiconfigurator"), with_times("roofline")
    asked = with_times("roofline", preset="roofline")
    for runs in ([tables, tables], [roofline, roofline], [tables, asked], [tables, with_times("fitted")]):
        assert not [*unlike_times(("", run) for run in runs)]


def test_a_comparison_names_the_point() -> None:
    runs = [
        made("a", 1.0, written={"workers.tensor_parallel": str(n)}, notes=[f"step times ({origin}): so"])
        for n, origin in ((1, "fitted"), (8, "roofline"))
    ]
    (said,) = [line for line in warnings_of(Comparison(["a"], runs)) if line.startswith("step times")]
    assert "of workers.tensor_parallel=8 are a roofline" in said
