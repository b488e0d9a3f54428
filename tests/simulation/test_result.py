"""What a run gave, fresh and from a folder."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sim.base.errors import InputError
from sim.results.tables import TABLES
from sim.scenario.load import load_scenario
from sim.simulation.result import RunResult
from sim.simulation.run import run
from sim.workload.settings import WorkloadSettings
from tests.clusters import Pace, scenario, trace, turn


@pytest.fixture(scope="module")
def result() -> RunResult:
    """Two turns of a session; the first turn's blocks are reused but for the one with the last token."""
    requests = trace(turn(0.0, 64, 2, [1, 2, 3, 4]), turn(10.0, 80, 3, [1, 2, 3, 4, 5]))
    return run(scenario(workers={"count": 1}, engine={"kv_blocks": 6251}), trace=requests, step_time=Pace())


def test_numbers_have_dotted_names(result: RunResult) -> None:
    assert result.numbers["requests.completed"] == 2
    assert result.numbers["ttft_s.p50"] == 1.0
    assert result.numbers["goodput"] is None
    assert result.to_dict()["prefill"]["computed_tokens"] == result.numbers["prefill.computed_tokens"] == 80


def test_the_summary_is_a_row_a_number_with_its_unit(result: RunResult) -> None:
    summary = result.summary()
    assert list(summary.columns) == ["label", "value", "unit"]
    assert summary.loc["ttft_s.p95"].tolist() == ["TTFT p95", 1.0, "s"]
    assert summary.loc["prefill.computed_tokens", "unit"] == "tokens"
    assert summary.loc["throughput.requests_per_s", "unit"] == "requests/s"
    assert summary.loc["prefill.recomputation", "unit"] == ""
    assert pd.isna(summary.loc["goodput", "value"])
    assert set(summary.index) == set(result.numbers)


def test_tables_are_frames_with_units(result: RunResult) -> None:
    assert result.requests["turn"].tolist() == [0, 1]
    assert result.requests["ttft_s"].tolist() == [1.0, 1.0]
    assert result.requests.attrs["units"]["prompt_tokens"] == "tokens"
    assert result.decisions["chosen"].tolist() == [True, True]
    assert result.workers["running"].max() == 1
    assert result.itl["n"].sum() == 3
    assert result.links.empty


@pytest.mark.parametrize("table", TABLES)
def test_every_table_tells_what_its_columns_say(result: RunResult, table: str) -> None:
    """Those too that only tables of some runs have: no request waits at this router, or is left out."""
    columns = result.columns(table)
    sometimes = {"requests": ["router_queue_s", "phase", "tag"], "decisions": ["front_end", "regret_tokens"]}
    assert list(columns.index) == [*result.rows.frame(table).columns, *sometimes.get(table, [])]
    assert list(columns.columns) == ["unit", "about"]


def test_an_unknown_table_is_refused(result: RunResult) -> None:
    with pytest.raises(InputError, match="no table is called 'request'; there are requests, decisions"):
        result.columns("request")


def test_a_table_that_was_not_kept_is_missed_with_a_reason() -> None:
    settings = scenario(output={"tables": []})
    found = run(settings, trace=trace(turn(0, 16, 1, [1])), step_time=Pace())
    with pytest.raises(InputError, match=r"has no table of decisions; output\.tables of its scenario says"):
        _ = found.decisions


def test_it_shows_the_page_of_the_command_line(result: RunResult) -> None:
    lines = repr(result).splitlines()
    assert lines[1:3] == [
        "router Dynamo 1.5, engine vLLM 0.28",
        "2 requests: 2 completed · 0 rejected · 0 unfinished",
    ]
    assert lines[-2:] == [
        "· step times: a law passed by the caller",
        "· answers are fresh: no prompt holds what was answered before",
    ]
    assert not [line for line in lines if line != line.rstrip()]
    page = result._repr_html_()
    assert page.startswith("<pre")
    assert "2 requests: 2 completed" in page
    assert "color: #008000" in page
    assert "\x1b" not in page


def test_a_policy_of_the_caller_is_told() -> None:
    found = run(
        scenario(), trace=trace(turn(0, 16, 1, [1])), step_time=Pace(), policy=lambda terms, query, draw: 1
    )
    assert found.requests["worker"].tolist() == [1]
    assert "routing: a policy passed by the caller" in found.notes


def test_what_was_saved_loads_as_it_was(result: RunResult, tmp_path: Path) -> None:
    result.save(tmp_path / "deep" / "mine")
    again = RunResult.load(tmp_path / "deep" / "mine")
    assert again.name == "mine"
    assert again.scenario == result.scenario
    assert again.to_dict() == result.to_dict()
    assert again.notes == result.notes
    assert list(again.rows.tables) == list(TABLES)
    for name in TABLES:
        assert again.rows.frame(name).equals(result.rows.frame(name)), name
    assert repr(again) == repr(result)


def test_earlier_results_stay_unless_they_may_be_replaced(result: RunResult, tmp_path: Path) -> None:
    result.save(tmp_path / "mine")
    with pytest.raises(InputError, match="is not empty; give a new folder, or --force"):
        result.save(tmp_path / "mine")
    result.save(tmp_path / "mine", replace=True)


def test_a_saved_run_needs_neither_its_trace_nor_tables_that_were_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text('{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}\n')
    settings = scenario(workload=WorkloadSettings(path=path), output={"tables": []})
    run(settings).save(tmp_path / "run")
    path.unlink()
    again = RunResult.load(tmp_path / "run")
    assert again.scenario == settings
    assert list(again.rows.tables) == ["requests", "links", "itl"]


def test_a_damaged_folder_is_named(result: RunResult, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("{")
    with pytest.raises(InputError, match=r"summary\.json: not a JSON file"):
        RunResult.load(tmp_path / "run")
    (tmp_path / "run" / "summary.json").write_text("{}")
    with pytest.raises(InputError, match=r"summary\.json: schema_version is None; 1 is understood"):
        RunResult.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("section", "content", "message"),
    [
        ("prefill", None, r"summary\.json: has no prefill, not as `sim run` writes it"),
        ("ttft_s", {"p50": 1}, r"summary\.json: has no ttft_s\.n, not as"),
        ("prefill", 3, r"summary\.json: prefill is 3, not as"),
        ("gpu_hours", "many", r"summary\.json: gpu_hours is 'many', not as"),
        ("thin_percentiles", {}, r"summary\.json: thin_percentiles is {}, not as"),
    ],
)
def test_a_summary_that_lacks_something_is_named(
    result: RunResult, tmp_path: Path, section: str, content: object, message: str
) -> None:
    result.save(tmp_path / "run")
    path = tmp_path / "run" / "summary.json"
    summary = {key: value for key, value in json.loads(path.read_text()).items() if key != section}
    path.write_text(json.dumps(summary if content is None else summary | {section: content}))
    with pytest.raises(InputError, match=message):
        RunResult.load(tmp_path / "run")


def test_names_are_those_of_what_was_run(tmp_path: Path) -> None:
    small = {"workload.sessions": 1, "workload.turns": 1}
    (tmp_path / "mine.toml").write_text(load_scenario("agg4", small).to_toml())
    assert run("agg4", small).name == "agg4"
    assert run(tmp_path / "mine.toml").name == "mine"
    assert run(load_scenario("agg4", small)).name == load_scenario("agg4").title
