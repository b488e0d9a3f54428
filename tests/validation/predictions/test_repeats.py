"""Runs that repeat each other, and how far they are apart."""

import json
from pathlib import Path

from sim.measured.run import load_run
from sim.validation.predictions.repeats import kind_of, repeats
from tests.measured.small_run import SMALL, bench, copy, lines


def test_runs_repeat_each_other_if_settings_client_and_prompts_are_the_same(tmp_path: Path) -> None:
    kind = kind_of(load_run(SMALL), "told")
    limited = copy(tmp_path / "limited", bench_json=json.dumps(bench() | {"max_concurrency": 4}))
    rows = [line.replace("[1, 4, 5]", "[1, 4, 9]") for line in lines("trace.jsonl")]
    other = copy(tmp_path / "other", trace_jsonl="\n".join(rows))
    assert kind_of(load_run(copy(tmp_path / "again")), "told") == kind
    assert kind_of(load_run(SMALL), "told otherwise") != kind
    assert kind_of(load_run(limited), "told") != kind
    assert kind_of(load_run(other), "told") != kind


def test_the_spread_is_over_numbers_that_all_of_them_measured() -> None:
    first, alone, second = repeats(
        [
            ("a", 1, {"x": 3.0, "y": 1.0}),
            ("b", 2, {"x": 7.0}),
            ("c", 1, {"x": 2.0, "y": None}),
        ]
    )
    assert alone is None
    assert first is second
    assert first.runs == ("a", "c")
    assert first.numbers == {"x": (3.0, 2.0)}
