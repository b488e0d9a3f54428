"""The page of a sweep: a row a point, a chart a number, the way to the pages of its runs."""

from pathlib import Path

import pytest

from sim.report.many import many
from sim.report.many_charts import MOST_LINES, number_charts, numeric_key, series
from sim.report.many_page import keep_settings, render_many
from sim.report.moved import moved_table
from sim.report.run_pages import address
from sim.runs.comparison import Comparison
from sim.runs.run import Run
from sim.runs.sweep import Sweep
from tests.report.html import parse
from tests.report.runs import small_run
from tests.runs.test_rule_effects import three_rules

METRICS = ["ttft_s.p50", "prefill.recomputation"]


@pytest.fixture(scope="module")
def summary() -> dict:
    return small_run().to_dict()


def sweep(summary: dict, key: str, values: list, seeds: int = 1) -> Sweep:
    """Runs whose TTFT p50 is ten times the place of their value, and a second more a seed."""
    table, _, name = key.rpartition(".")
    runs = []
    for place, value in enumerate(values, start=1):
        for seed in range(seeds):
            numbers = summary | {"ttft_s": summary["ttft_s"] | {"p50": 10.0 * place + seed}}
            runs.append(Run("s", {"seed": seed, table: {name: value}}, {key: str(value)}, seed, numbers))
    return Sweep("s", runs)


def test_a_row_has_settings_the_middle_of_its_numbers_and_its_runs(summary: dict, tmp_path: Path) -> None:
    found = many(
        sweep(summary, "router.policy", ["kv", "round-robin"], 2), METRICS, tmp_path, tmp_path / "p.html"
    )
    assert found.columns == ["run", "router.policy", "TTFT p50", "Recomputation", "open"]
    assert [point.cells for point in found.points] == [
        ["kv", "10.5 s", "75.0 %"],
        ["round-robin", "20.5 s", "75.0 %"],
    ]
    assert [run.label for run in found.points[0].runs] == ["seed 0", "seed 1"]
    assert found.points[0].runs[1].commands == [
        f"sim run {tmp_path}/scenarios/1_s_router.policy=kv.toml --set seed=1 "
        f"--out {tmp_path}/runs/1_s_router.policy=kv_seed-1",
        f"sim report {tmp_path}/runs/1_s_router.policy=kv_seed-1",
    ]


def test_a_run_with_tables_needs_only_its_page_and_one_with_a_page_is_linked(
    summary: dict, tmp_path: Path
) -> None:
    runs = sweep(summary, "router.policy", ["kv"])
    kept = tmp_path / "runs" / "1_s_router.policy=kv_seed-0"
    kept.mkdir(parents=True)
    (kept / "summary.json").write_text("{}")
    ((run,),) = [point.runs for point in many(runs, METRICS, tmp_path, tmp_path / "p.html").points]
    assert (run.address, run.commands) == ("", [f"sim report {kept}"])
    (kept / "report.html").write_text("")
    ((run,),) = [point.runs for point in many(runs, METRICS, tmp_path, tmp_path / "x" / "p.html").points]
    assert (run.address, run.commands) == ("../runs/1_s_router.policy%3Dkv_seed-0/report.html", [])


def test_addresses_are_those_of_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "a b#").mkdir()
    page = tmp_path / "a b#" / "report.html"
    assert address(page, tmp_path / "all.html") == ""
    page.write_text("")
    assert address(page, tmp_path / "all.html") == "a%20b%23/report.html"


def test_a_key_of_numbers_is_an_axis_and_others_are_lines(summary: dict, tmp_path: Path) -> None:
    numbers = many(sweep(summary, "workload.sessions", [4, 8, 16]), METRICS, tmp_path, tmp_path)
    assert numeric_key(numbers) == "workload.sessions"
    ttft, _ = number_charts(numbers)
    assert ttft.title == "TTFT p50 over workload.sessions"
    dots = parse(ttft.svg).all("circle")
    assert [dot.one("title").text for dot in dots] == [
        f"Row {n}, workload.sessions={value}: {n}0.0 s" for n, value in ((1, 4), (2, 8), (3, 16))
    ]
    left, middle, right = (float(dot["cx"]) for dot in dots)
    assert (right - left) == pytest.approx(3 * (middle - left), abs=0.3)
    names = many(sweep(summary, "router.policy", ["a", "b", "c"]), METRICS, tmp_path, tmp_path)
    assert numeric_key(names) is None
    ttft, _ = number_charts(names)
    assert [link["href"] for link in parse(ttft.svg).all("a")] == ["#run-1", "#run-2", "#run-3"]


def test_of_many_lines_the_first_are_drawn_and_it_is_said(summary: dict, tmp_path: Path) -> None:
    values = [f"p{n}" for n in range(MOST_LINES + 2)]
    chart = number_charts(many(sweep(summary, "router.policy", values), METRICS, tmp_path, tmp_path))[0]
    assert len(parse(chart.svg).all("circle")) == MOST_LINES
    assert chart.says.endswith(f"Shown are the first {MOST_LINES} of {MOST_LINES + 2}.")


def test_a_failed_run_says_why(summary: dict, tmp_path: Path) -> None:
    runs = [Run("a", {}, {}, 0, summary), Run("<b>", {}, {}, 0, None, error="no <room>")]
    page = parse(render_many(Comparison(["a", "<b>"], runs), tmp_path, tmp_path / "report.html"))
    rows = page.one("tbody").rows()
    assert [row[:2] for row in rows] == [["1", "a"], ["2", "<b>"]]
    assert rows[1][-1] == "failed: no <room>"


def test_scenarios_are_kept_for_runs_to_be_made_again(summary: dict, tmp_path: Path) -> None:
    keep_settings(sweep(summary, "router.policy", ["kv"]), tmp_path)
    (file,) = (tmp_path / "scenarios").iterdir()
    assert file.name == "1_s_router.policy=kv.toml"
    file.write_text("mine")
    keep_settings(sweep(summary, "router.policy", ["kv"]), tmp_path)
    assert file.read_text() == "mine"


def test_the_page_is_sound(summary: dict, tmp_path: Path) -> None:
    page = parse(render_many(sweep(summary, "a.b", [1, 2, 3], 3), tmp_path, tmp_path / "report.html"))
    ids = [element["id"] for element in page.all("*") if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.all("a")} <= set(ids)
    assert page.one("table").one("caption").text
    assert "its interval of 95 %" in page.one("header").text


def test_rows_that_differ_in_one_key_alone_are_joined_by_a_line(summary: dict, tmp_path: Path) -> None:
    runs = []
    for sessions in (4, 8):
        for scale in (4, 1, 2):
            point = {"workload.sessions": str(sessions), "router.prefill_load_scale": str(scale)}
            settings = {"workload": {"sessions": sessions}, "router": {"prefill_load_scale": scale}}
            runs.append(Run("s", {"seed": 0, **settings}, point, 0, summary))
    found = many(Sweep("s", runs), METRICS, tmp_path, tmp_path)
    four, eight = series(found)
    assert (four.name, eight.name) == ("workload.sessions=4", "workload.sessions=8")
    assert (four.rows, eight.rows) == ([2, 3, 1], [5, 6, 4])
    ttft, _ = number_charts(found)
    lines = [line for line in parse(ttft.svg).all("line") if "level" in line["class"]]
    assert [line["class"] for line in lines] == [four.style] * 2 + [eight.style] * 2


def test_more_lines_than_there_are_styles_are_none(summary: dict, tmp_path: Path) -> None:
    runs = []
    for sessions in (4, 8, 12, 16, 20):
        for scale in range(1, 7):
            point = {"workload.sessions": str(sessions), "router.prefill_load_scale": str(scale)}
            settings = {"workload": {"sessions": sessions}, "router": {"prefill_load_scale": scale}}
            runs.append(Run("s", {"seed": 0, **settings}, point, 0, summary))
    assert series(many(Sweep("s", runs), METRICS, tmp_path, tmp_path)) == []


def test_what_moved_numbers_between_releases_is_a_table_of_the_page(tmp_path: Path) -> None:
    comparison = Comparison(["agg8"], three_rules())
    page = render_many(comparison, tmp_path, tmp_path / "p.html")

    row = moved_table(comparison).rows[0]
    assert row == [
        "TTFT p50",
        "agg8, 0.28 to 0.33",
        "10.0 s",
        "16.0 s",
        "+60.0 %",
        "retention +50.0 %, retirement -30.0 %, queues +5.0 %, together +35.0 %",
    ]
    assert row[-1] in page
    plain = render_many(Comparison(["agg8"], comparison.runs), tmp_path, tmp_path / "p.html")
    assert "What moved them" in page
    assert "What moved them" not in plain
