"""Errors, A/B signs, and how rows are counted."""

from collections.abc import Mapping
from math import inf

import pytest

from sim.published.cells import cells
from sim.published.cluster import read_cluster
from sim.published.scores import RowScore, score_values
from sim.published.settings import AB
from sim.published.show_printed import error_text, median_errors, misses, wrong_signs
from sim.published.verdicts import Counted, Error, counted, error, judged
from tests.published.example import EXAMPLE
from tests.published.files import target

CLUSTER = read_cluster(str(EXAMPLE))
ROWS = {row.id: row for row in CLUSTER.targets.rows}
EXACT = {
    "rr-ttft-2": 4.0,
    "rr-ttft-4": 4400.0,
    "kv-ttft-2": 3.0,
    "kv-ttft-4": 2300.0,
    "rr-hits-4": 36.0,
    "kv-hits-4": 35.0,
    "kv-tail-4": 30.0,
}
"""What is printed."""


def scored(**changed: float | None) -> list[RowScore]:
    """Every dynamic row as it is printed, but for what is simulated otherwise."""
    values: Mapping[str, float | None] = {
        **EXACT,
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }

    def row(name: str, value: float | None) -> RowScore:
        return score_values(ROWS[name], lambda cell: [] if value is None else [value], "made")

    return [row(name, value) for name, value in values.items()]


@pytest.mark.parametrize(
    ("row", "simulated", "expected"),
    [
        ("rr-ttft-2", 5.0, Error(0.25, points=False)),
        ("rr-hits-4", 33.5, Error(-2.5, points=True)),
        ("rr-ttft-2", None, None),
    ],
)
def test_how_far_off_a_number_is(row: str, simulated: float | None, expected: Error | None) -> None:
    assert error(ROWS[row], simulated) == expected


def test_points_of_a_fraction_are_percentage_points() -> None:
    row = ROWS["rr-hits-4"].model_copy(update={"unit": "fraction", "printed": 0.36})
    off = error(row, 0.335)
    assert off is not None
    assert off.size == pytest.approx(-2.5)
    assert error_text(off) == "-2.5 points"


def test_a_range_has_no_error_and_a_row_about_a_number_has_one() -> None:
    assert error(target(), 1.5) is None
    about = target(relation="about", low="10", high="10", tolerance="0.3")
    assert error(about, 12.0) == Error(0.2, points=False)


def test_the_sign_of_a_pair_is_that_of_the_medians() -> None:
    def right(**changed: float | None) -> list[bool]:
        return [verdict.right for verdict in judged(CLUSTER.settings.ab, scored(**changed))]

    first, second, hits = judged(CLUSTER.settings.ab, scored())
    assert (first.printed, first.level) == (-0.25, 2)
    assert second.printed == pytest.approx(-21 / 44)
    # 35 for 36 % is less than a twentieth below: no difference.
    assert hits.printed == pytest.approx(-1 / 36)
    assert right() == [True, True, True]
    assert right(kv_ttft_2=3.81) == [False, True, True]
    assert right(kv_ttft_2=3.79) == [True, True, True]
    assert right(kv_ttft_2=5.0) == [False, True, True]
    assert right(kv_hits_4=38.0) == [True, True, False]
    assert right(rr_ttft_4=None) == [True, False, True]


def test_units_of_both_sides_may_differ() -> None:
    rows = scored(kv_ttft_2=3000.0)
    rows[2] = RowScore(
        rows[2].target.model_copy(update={"unit": "ms", "printed": 3000.0}), "made", rows[2].cells
    )
    (first, *_) = judged([AB(title="x", base="rr", other="kv")], rows)
    assert (first.printed, first.simulated) == (-0.25, -0.25)


def test_what_has_no_number_is_a_miss_and_an_error_without_end() -> None:
    rows = scored(kv_tail_4=None, rr_ttft_2=4.4)
    found = counted((), rows)
    assert (found.rows, found.within) == (7, 6)
    assert found.errors == (pytest.approx(0.1), 0.0, 0.0, 0.0, inf)
    assert found.points == (0.0, 0.0)
    assert [*misses(CLUSTER.settings, (), rows)] == [
        "ITL p99.9, KV router at 4 sessions in flight: measured 30.0 ms ± 10 %, no number simulated"
    ]


def test_medians_of_errors_in_words() -> None:
    assert median_errors(Counted(3, 3, (0.1, 0.2, 0.4), (1.0, 2.0))) == "20.0 %, 1.5 points"
    assert median_errors(Counted(2, 0, (inf, inf), ())) == "none"
    assert median_errors(Counted(1, 1, (), ())) == "-"


def test_a_wrong_sign_is_said() -> None:
    verdicts = [*judged(CLUSTER.settings.ab, scored(kv_ttft_2=5.0, rr_ttft_4=None))]
    assert [*wrong_signs(CLUSTER.settings, verdicts)] == [
        "sign of TTFT p50, KV router against round robin at 2 sessions in flight: measured -25 %, "
        "simulated +25 %",
        "sign of TTFT p50, KV router against round robin at 4 sessions in flight: measured -48 %, no number",
    ]


def test_every_row_has_one_cell() -> None:
    assert all(len([*cells(row)]) == 1 for row in CLUSTER.dynamic_rows())
