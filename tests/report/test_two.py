"""Two runs on one page: their numbers, what differs between their settings, and both in each chart."""

import re

import pytest

from sim.report.latencies import latencies_of_two
from sim.report.two import difference, differing_settings, number_table
from sim.report.two_charts import causes_of_two, recomputation_by_turn, session_table
from sim.report.two_page import render_two
from sim.results.phases import counted_rows
from sim.simulation.result import RunResult
from tests.report.html import Element, parse
from tests.report.runs import NAME, small_run


@pytest.fixture(scope="module")
def runs() -> tuple[RunResult, RunResult]:
    """A session that goes from worker to worker, and one that stays."""
    return small_run(), small_run(policy=lambda terms, query, draw: 0, seed=1)


@pytest.fixture(scope="module")
def page(runs: tuple[RunResult, RunResult]) -> Element:
    return parse(render_two(*runs, ("a/report.html", "")))


def test_numbers_stand_side_by_side_with_their_difference(runs: tuple[RunResult, RunResult]) -> None:
    first, second = (run.to_dict() for run in runs)
    table = number_table(first, second)
    rows = {row[0]: row[1:] for row in table.rows}
    assert len(rows) == len(table.rows)
    assert rows["Recomputation"] == ["75.0 %", "0 %", "-75.0 pp", "-100 %"]
    assert rows["Workers a session"] == ["2.00", "1.00", "-1.00", "-50.0 %"]
    assert rows["Requests rejected"] == ["0", "0", "0", "-"]
    assert rows["TTFT p95"] == ["1.90 s", "1.00 s", "-900 ms", "-47.4 %"]


def test_a_difference_has_its_sign() -> None:
    assert [difference("2.00 s", *pair) for pair in ((1, 3), (3, 1))] == ["+2.00 s", "-2.00 s"]
    assert difference("0 s", 1, 1) == "0"


def test_settings_that_differ_are_listed_and_no_others() -> None:
    first = {"seed": 0, "router": {"policy": "kv", "a": True}, "gpus": ["x"], "faults": [{"at_s": 1}]}
    second = {"seed": 0, "router": {"policy": "kv", "a": False, "b": 2}, "faults": [{"at_s": 3}]}
    assert [tuple(setting) for setting in differing_settings(first, second)] == [
        ("router.a", "true", "false"),
        ("gpus", "['x']", "-"),
        ("faults[0].at_s", "1", "3"),
        ("router.b", "-", "2"),
    ]
    assert differing_settings(first, first) == []


def test_distributions_lie_over_each_other_in_the_same_parts(runs: tuple[RunResult, RunResult]) -> None:
    summaries = [run.to_dict() for run in runs]
    ttft, itl, _ = latencies_of_two([run.rows for run in runs], summaries)
    assert (
        ttft.says
        == "p50 1.00 s in A, 1.00 s in B; p95 1.90 s in A, 1.00 s in B; p99 1.98 s in A, 1.00 s in B."
    )
    assert ttft.table is not None
    shares = [row[2:] for row in ttft.table.rows if row[2:] != ["0 %", "0 %"]]
    assert shares == [["66.7 %", "100 %"], ["33.3 %", "0 %"]]
    assert [line["class"] for line in parse(itl.svg).all("path")] == ["level first", "level second"]


def test_causes_and_turns_of_both(runs: tuple[RunResult, RunResult]) -> None:
    summaries = [run.to_dict() for run in runs]
    causes = causes_of_two(summaries)
    assert causes is not None
    assert causes.says == "Recomputed tokens: 96 in A, 0 in B."
    assert causes.table is not None
    assert [row[0] for row in causes.table.rows] == ["run A", "run B"]
    assert causes_of_two([summaries[1], summaries[1]]) is None

    requests = [counted_rows(run.rows.frame("requests")) for run in runs]
    turns = recomputation_by_turn(requests)
    assert turns is not None
    assert turns.table is not None
    assert turns.table.rows == [["0", "0 %", "0 %"], ["1", "66.7 %", "0 %"], ["2", "25.0 %", "0 %"]]


def test_sessions_say_on_how_many_workers_they_were(runs: tuple[RunResult, RunResult]) -> None:
    requests = [run.rows.frame("requests") for run in runs]
    table, more = session_table(requests)
    assert (table.rows, more) == ([[NAME, "2", "1", "33.3 %", "0 %"]], 0)
    table, more = session_table([requests[0], requests[1].iloc[:0]])
    assert (table.rows, more) == ([[NAME, "2", "-", "33.3 %", "-"]], 0)


def test_the_page_names_both_and_links_what_has_a_page(
    page: Element, runs: tuple[RunResult, RunResult]
) -> None:
    header = page.one("header").text
    assert f"A: {runs[0].name}" in header
    assert f"B: {runs[1].name}" in header
    links = [link["href"] for link in page.all("a") if not link["href"].startswith("#")]
    assert links == ["a/report.html"]
    settings = page.one("section", **{"aria-labelledby": "settings"}).one("table").rows()
    assert ["seed", "0", "1"] in settings


def test_the_page_is_sound(page: Element) -> None:
    ids = [element["id"] for element in page.all("*") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    targets = {link["href"][1:] for link in page.all("a") if link["href"].startswith("#")}
    assert targets <= set(ids)
    for table in page.all("table"):
        assert table.one("caption").text
    assert all(picture.one("desc").text for picture in page.all("svg", role="img"))
    assert [element for element in page.all("b") if "A &" in element.text] == []


def test_two_runs_of_which_one_served_nothing() -> None:
    refused = small_run(engine={"kv_blocks": 4})
    assert refused.numbers["requests.completed"] == 0
    text = render_two(small_run(), refused)
    assert "No request was completed." in text
    assert re.search(r"Requests rejected</th>.*?>0<.*?>3<", text)
