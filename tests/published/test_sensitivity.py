"""What is said of a row once assumptions were moved."""

from pathlib import Path

import pytest

from sim.published.assumptions import Moved, moved
from sim.published.cells import cells
from sim.published.cluster import read_cluster
from sim.published.plots import signed, write_sensitivity
from sim.published.scores import RowScore, score_values
from sim.published.sensitivity import Effect, narrowed, sentence
from sim.published.targets import Target
from sim.published.variants import Scored, Variant
from sim.scenario.load import load_scenario
from tests.published.files import target

SPEED = Moved("prefill attention", "timing.a_pair_s", "500ps", (750.0, 500.0), "ps")
ASSUMPTIONS = read_cluster("talk").assumptions
WINDOW = Moved("trace window", "workload.window", "first")


def at(number: float, row: Target | None = None) -> RowScore:
    return score_values(row or target(), lambda cell: [number], "made")


def effect(moved: Moved, before: float, after: float) -> Effect:
    return Effect(moved.variant, moved, at(before), at(after))


def test_a_row_names_what_it_would_take() -> None:
    said = sentence(at(8.0), [effect(WINDOW, 8.0, 1.5), effect(SPEED, 8.0, 9.0)])
    assert said == "8.00 s at agg4@4, printed 1.00 to 2.00 s: would hold with trace window first."


def test_a_number_is_said_between_the_two_that_were_tried() -> None:
    # Wide open below: ln 4 too high becomes ln 4 below, so the edge lies half way between 750 and 500.
    row = target(relation="at most", low="", high="2")
    halfway = Effect(SPEED.variant, SPEED, at(8.0, row), at(0.5, row))
    assert halfway.way == "prefill attention 625ps"
    assert sentence(at(8.0, row), [halfway]).endswith("would hold with prefill attention 625ps.")


def test_a_row_that_nothing_is_enough_for() -> None:
    said = sentence(at(8.0), [effect(WINDOW, 8.0, 4.0), effect(SPEED, 8.0, 3.0)])
    assert said.endswith(
        "no single assumption is enough; nearest come prefill attention 500ps (3.00 s at agg4@4), "
        "trace window first (4.00 s at agg4@4)."
    )
    said = sentence(at(8.0), [effect(WINDOW, 8.0, 8.1)])
    assert said.endswith("nothing that was moved brings it nearer.")


def test_a_row_that_holds_names_what_would_lose_it() -> None:
    assert sentence(at(1.5), [effect(WINDOW, 1.5, 1.6)]).endswith(": inside, whatever is moved.")
    said = sentence(at(1.5), [effect(WINDOW, 1.5, 3.0)])
    assert said.endswith(": inside; not with trace window first.")


def test_a_range_is_looked_at_in_few_places() -> None:
    wide = target(configurations="agg4 1p3d", combine="difference", sessions_max="28")
    assert [cell.level for cell in cells(narrowed(wide, (12, 20, 28)))] == [12, 20, 28]
    alone = target(sessions_min="8", sessions_max="8")
    assert [cell.level for cell in cells(narrowed(alone, (12, 20, 28)))] == [8]


def test_what_is_moved_starts_at_what_the_scenario_says() -> None:
    settings = ["timing.a_pair_s=600ps", "workload.start_gap_s=2"]
    found = list(moved(ASSUMPTIONS, [load_scenario(name, settings) for name in ("1p3d-no-offload", "1p3d")]))
    by_name = {(one.name, one.text): one for one in found}
    assert by_name["prefill attention", "530ps"].numbers == pytest.approx((600.0, 530.0))
    assert by_name["prefill attention", "1050ps"].variant.settings == ("timing.a_pair_s=1050ps",)
    assert by_name["session starts apart", "60s"].numbers == (2.0, 60.0)
    assert by_name["PCIe", "20GB/s"].numbers == (50.0, 20.0)
    for one in found:
        load_scenario("1p3d", one.variant.settings)


def test_what_no_cluster_has_is_not_moved() -> None:
    found = {one.name for one in moved(ASSUMPTIONS, [load_scenario("agg4", ["offload=none"])])}
    assert "token budget" in found
    assert not {"PCIe", "host-tier events", "NVLink", "RoCE"} & found


@pytest.mark.parametrize(("number", "sign"), [(8.0, 1), (1.5, 0), (0.25, -1)])
def test_the_colour_tells_too_high_from_too_low(number: float, sign: int) -> None:
    found = signed(at(number))
    assert (found > 0) - (found < 0) == sign


def test_the_picture_is_the_same_for_the_same_numbers(tmp_path: Path) -> None:
    scored = [Scored(Variant(name), (at(number),)) for name, number in (("as assumed", 8.0), ("other", 1.5))]
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        write_sensitivity(scored, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
