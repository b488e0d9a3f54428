"""Equal fingerprints mean equal results, other settings another fingerprint."""

import os
from pathlib import Path

import pytest

import sim.experiments.jobs.fingerprint
from sim.experiments.jobs.fingerprint import code, fingerprint
from sim.scenario.load import load_scenario

ROW = '{"session_id": "a", "timestamp": 0, "input_length": 8, "output_length": 1, "hash_ids": [1]}\n'


def test_what_is_written_otherwise_but_means_the_same_is_the_same() -> None:
    assert fingerprint(load_scenario("agg8")) == fingerprint(
        load_scenario("agg8", ["offload.cpu_bytes=65536MiB", "router.temperature=0.0"])
    )


@pytest.mark.parametrize(
    "override", ["seed=1", "router.temperature=0.1", "workload.sessions=13", "timing.c_seq_s=1us"]
)
def test_every_setting_counts(override: str) -> None:
    assert fingerprint(load_scenario("agg8", [override])) != fingerprint(load_scenario("agg8"))


def test_the_content_of_a_trace_counts_and_its_place_does_not(tmp_path: Path) -> None:
    def of(path: Path) -> str:
        return fingerprint(load_scenario("agg8", [f"workload.path={path}"]))

    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for path in (one, other):
        path.write_text(ROW)
    assert of(one) == of(other)

    before = of(one)
    one.write_text(ROW.replace("8", "9"))
    os.utime(one, ns=(0, 0))
    assert of(one) != before


def test_other_code_is_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(load_scenario("agg8"))
    monkeypatch.setattr(sim.experiments.jobs.fingerprint, "code", lambda: "changed")
    assert fingerprint(load_scenario("agg8")) != before


def test_code_is_the_same_in_a_checkout_and_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sim.experiments.jobs.fingerprint, "_SOURCES", tmp_path)
    found = []
    for name, text in (("one.py", "1"), ("_shipped/calibration/fit.py", "2"), ("room/two.py", "3")):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        found.append(code.__wrapped__())
    checkout, installed, with_another = found
    assert checkout == installed != with_another
