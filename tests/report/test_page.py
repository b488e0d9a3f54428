"""The page as a whole: sound HTML that a browser needs nothing else for, and what is written in it."""

import re
from itertools import pairwise
from random import Random

import pytest

from sim.report import page as page_module
from sim.report.page import render_page
from sim.report.turns import turns
from sim.scenario.load import load_scenario
from sim.simulation.result import RunResult
from sim.simulation.run import run, summary_of
from tests.clusters import Pace, RandomCluster, scenario, trace, turn
from tests.report.html import Element, parse
from tests.report.runs import NAME, PREFILL_AND_DECODE, small_run

TITLE = "</title><script>alert(1)</script> & more"


@pytest.fixture(scope="module")
def page() -> Element:
    return parse(render_page(small_run(title=TITLE)))


@pytest.fixture(scope="module", params=["agg8", "2p6d"])
def shipped(request: pytest.FixtureRequest) -> str:
    small = ["workload.sessions=6", "workload.turns=5"]
    return render_page(run(load_scenario(request.param, small)))


def test_headings_go_down_step_by_step(shipped: str) -> None:
    levels = [int(found) for found in re.findall(r"<h(\d)", shipped)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_names_that_are_referred_to_exist_once(shipped: str) -> None:
    page = parse(shipped)
    ids = [element["id"] for element in page.all("*") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    referred = {link["href"].removeprefix("#") for link in page.all("a")}
    referred |= {label["for"] for label in page.all("label")}
    for element in page.all("*"):
        referred |= set(element.attributes.get("aria-labelledby", "").split())
    referred |= set(re.findall(r"url\(#([\w-]+)\)", shipped))
    assert referred <= set(ids)
    assert len(referred) > 20


def test_nothing_is_fetched(shipped: str) -> None:
    page = parse(shipped)
    assert "default-src 'none'" in page.one("meta", **{"http-equiv": "Content-Security-Policy"})["content"]
    targets = {
        element.attributes[name]
        for element in page.all("*")
        for name in ("src", "href")
        if name in element.attributes
    }
    assert all(target.startswith(("#", "data:")) for target in targets)
    assert not re.findall(r"url\((?!#)|@import|fetch\(|XMLHttp|https?://", shipped)


def test_every_picture_says_what_it_shows_and_every_table_what_it_is(shipped: str) -> None:
    page = parse(shipped)
    for picture in page.all("svg", role="img"):
        assert picture.all("title")[0].text
        assert picture.one("desc").text.endswith(".")
    assert len(page.all("svg", role="img")) == 3 + 2 + 8
    for table in page.all("table"):
        assert table.attributes.get("aria-label") or table.one("caption").text
        for cell in table.all("th"):
            assert cell["scope"] in {"row", "col"}
    for other in page.all("svg"):
        assert other.attributes.get("role") == "img" or other["aria-hidden"] == "true"


def test_what_a_scenario_and_a_trace_say_is_never_markup(page: Element) -> None:
    assert page.one("h1").text == page.all("title")[0].text == TITLE
    assert page.one("select").one("option")["value"] == NAME
    assert [element for element in page.all("b") if "A &" in element.text] == []
    assert len(page.all("script")) == 1


def test_the_numbers_of_the_summary_stand_on_it(page: Element) -> None:
    numbers = {term.text: number.text for term, number in zip(page.all("dt"), page.all("dd"), strict=True)}
    assert numbers["TTFT p50"] == "1.00 s"  # a step of a second, two for the 96 tokens of turn 1
    assert numbers["prefill recomputed"] == "75.0 %"  # 96 of 128
    assert numbers["workers a session"] == "2.00"
    assert "3 requests: 3 completed" in page.one("header").text


def test_the_map_of_a_session(page: Element) -> None:
    grid = page.one("table", role="grid")
    assert grid.rows() == [
        ["turn", "0", "1", "2"],
        [
            "W0",
            "0Turn 0 on worker 0: 0 of 64 prompt tokens recomputed (0 %), 0 hit, 64 new. TTFT 1.00 s.",
            "",
            "25Turn 2 on worker 0: 32 of 128 prompt tokens recomputed (25.0 %), 64 hit, 32 new. TTFT 1.00 s.",
        ],
        [
            "W1",
            "",
            "67Turn 1 on worker 1: 64 of 96 prompt tokens recomputed (66.7 %), 0 hit, 32 new. TTFT 2.00 s.",
            "",
        ],
    ]
    colours = [cell["style"] for cell in grid.all("td", class_="computed")]
    assert colours == ["--r:0%;--c:100%", "--r:25%;--c:50%", "--r:67%;--c:100%"]


def test_the_costliest_decisions_and_their_terms(page: Element) -> None:
    first, second = (choice for choice in page.all("details") if "choice" in choice.classes)
    assert first.one("summary").text == f"Request 1, {NAME} turn 1, to worker 1: 64 tokens"
    assert second.one("summary").text == f"Request 2, {NAME} turn 2, to worker 0: 32 tokens"
    assert "96 tokens, 100 % of what was recomputed" in page.text
    headings, *candidates = first.one("table").rows()
    assert headings[0] == "worker"
    assert [(row[0], row[headings.index("credit")], row[-1]) for row in candidates] == [
        ("W0 fewest", "4.0", "0"),
        ("W1 chosen", "0.0", "64"),
    ]


def test_a_router_without_an_index_is_told_apart() -> None:
    page = parse(render_page(small_run(policy=None, router={"policy": "round-robin"})))
    assert "The router knew of no cached block" in page.text
    choices = [choice.one("summary").text for choice in page.all("details") if "choice" in choice.classes]
    assert choices == [
        f"Request 1, {NAME} turn 1, to worker 1: 64 tokens were elsewhere",
        f"Request 2, {NAME} turn 2, to worker 0: 32 tokens were elsewhere",
    ]


def test_prefill_and_decode_workers_are_told_apart() -> None:
    page = parse(render_page(small_run(**PREFILL_AND_DECODE)))
    rows = [[cell[:2] for cell in row] for row in page.one("table", role="grid").rows()[1:]]
    assert rows == [["P0", "0T", "", "25"], ["P1", "", "67", ""], ["D2", "DT", "DT", "DT"]]
    charts = [chart.text for chart in page.all("h3")]
    assert charts[-3:] == ["Prefill worker 0", "Prefill worker 1", "Decode worker 2"]
    assert "NVLink of prefill worker 0, out" in page.text


def test_tables_that_were_not_kept_are_named() -> None:
    page = parse(render_page(small_run(output={"tables": []})))
    assert "The run kept no table of decisions" in page.text
    assert "The run kept no table of workers" in page.text


def test_a_run_that_served_nothing_has_a_page_too() -> None:
    refused = run(scenario(), trace=trace(turn(0.0, 4_800, 1, range(300))), step_time=Pace())
    assert refused.numbers["requests.rejected"] == 1
    page = parse(render_page(refused))
    for says in (
        "1 rejected (",
        "Computed on no worker: 1 turn.",
        "No request was completed.",
        "Nothing was computed twice.",
        "No decision cost anything",
        "No worker had anything to do.",
        "Nothing went over any link.",
    ):
        assert says in page.text


def test_requests_that_were_rejected_stand_in_the_map_with_a_letter() -> None:
    turns = [turn(0.0, 64, 3, range(4), "s"), turn(9.0, 4_800, 1, range(300), "s")]
    page = parse(render_page(run(scenario(), trace=trace(*turns), step_time=Pace())))
    (row,) = [row for row in page.one("table", role="grid").rows() if row[0] == "none"]
    assert row == [
        "none",
        "",
        "RTurn 1 on no worker: rejected (prompt_exceeds_pool), nothing computed.",
    ]
    assert "Rrejected: 1 request" in [entry.text for entry in page.all("li")]
    assert page.one("option").text.endswith("1 worker, 1 rejected")


def test_without_rejected_requests_the_map_has_no_row_for_them(page: Element) -> None:
    assert [row[0] for row in page.one("table", role="grid").rows()] == ["turn", "W0", "W1"]
    assert "Letters mark" not in page.text


def test_what_was_computed_and_not_completed_says_so() -> None:
    page = parse(render_page(small_run(replay={"timeout_s": 3.5})))
    (of_worker_0, _, of_worker_1) = page.one("table", role="grid").all("td", class_="computed")
    assert of_worker_0.text.startswith("0Turn 0 on worker 0")
    assert of_worker_1.text.startswith("67 CTurn 1 on worker 1")
    assert of_worker_1.text.endswith("Then cancelled (client_timeout).")


def test_turns_and_reuse_are_shown_where_a_run_has_them(page: Element) -> None:
    part = dict.fromkeys(("prompt_tokens", "recomputation"), 0.5) | {"hit_share": 0.25}
    part |= {"requests": {"total": 3, "completed": 2}, "ttft_s": {"p50": 1.5, "p95": 2.5}}
    summary = {"by_turn": {"first": part, "later": part | {"hit_share": 0.75}}}
    summary |= {"prefill": {"ideal_hit_share": 0.9, "hit_share": 0.5}, "bounds": {"oracle": 0.6}}
    found = turns(summary)
    assert found is not None
    assert found.reuse == {"ideal reuse": "90.0 %", "achieved reuse": "50.0 %", "under oracle": "60.0 %"}
    assert found.table is not None
    assert found.table.columns[:4] == ["", "Requests", "Completed", "TTFT p50"]
    first, later = found.table.rows
    assert [*first[:4], first[-1]] == ["first turns", "3", "2", "1.50 s", "25.0 %"]
    assert (later[0], later[5], later[-1]) == ("later turns", "-", "75.0 %")
    assert turns({"prefill": {"recomputation": 1.0}}) is None


def test_sessions_that_recomputed_most_come_first_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = run(load_scenario("agg8", ["workload.sessions=6", "workload.turns=5"]))
    recomputed = result.rows.frame("requests").groupby("session")["recomputed_tokens"].sum()
    order = recomputed.sort_values(ascending=False).index.tolist()
    page = parse(render_page(result))
    assert [option["value"] for option in page.all("option")] == order
    assert "Left out, to keep this page small" not in page.text

    monkeypatch.setattr(page_module, "_MOST_MAP_CHARACTERS", 6_000)
    page = parse(render_page(result))
    shown = [option["value"] for option in page.all("option")]
    assert shown == order[: len(shown)] == [part["data-session"] for part in page.all("div", class_="map")]
    assert f"Left out, to keep this page small: {6 - len(shown)} sessions that recomputed less." in page.text
    assert 1 <= len(shown) < 6


def test_a_saved_run_has_the_page_that_the_run_itself_has(tmp_path) -> None:
    result = small_run()
    result.save(tmp_path)
    assert render_page(RunResult.load(tmp_path)) == render_page(result)


@pytest.mark.parametrize("seed", range(12))
def test_any_run_has_a_sound_page(seed: int) -> None:
    made = RandomCluster(Random(seed))
    cluster = made.run()
    summary = summary_of(cluster) | {"notes": []}
    page = parse(render_page(RunResult("random", made.scenario, summary, cluster.recorder.rows)))
    sessions = {request.session for request in made.trace.requests}
    assert {part["data-session"] for part in page.all("div", class_="map")} == sessions
    assert str(len(made.trace.requests)) == page.one("header").one("p", class_="lines").text.split()[0]
