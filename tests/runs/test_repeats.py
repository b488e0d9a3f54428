"""Summaries of several runs in the shape of one."""

from sim.results.metrics import to_json
from sim.runs.repeats import combine
from sim.runs.spread import band


def run(p50, thin, tier=None):
    return {
        "schema_version": 1,
        "ttft_s": {"n": 2, "p50": p50},
        "thin_percentiles": thin,
        "occupancy": {"cpu_tier": tier},
        "slo": {"ttft_s": 2.0},
        "gpu_hours": 4,
    }


def test_every_number_is_combined_in_its_place():
    runs = [run(1.0, ["ttft_s.p50"]), run(3.0, ["ttft_s.p50", "e2e_s.p99"]), run(None, [])]
    combined = combine([7, 8, 9], runs)

    assert combined["seeds"] == [7, 8, 9]
    assert combined["runs"] == runs
    assert combined["thin_percentiles"] == ["ttft_s.p50", "e2e_s.p99"]
    assert combined["intervals"].keys() == {"ttft_s", "occupancy", "gpu_hours"}
    p50 = combined["intervals"]["ttft_s"]["p50"]
    assert (p50["mean"], p50["n"]) == (2.0, 2)
    assert combined["intervals"]["gpu_hours"]["n"] == 3
    assert combined["intervals"]["occupancy"]["cpu_tier"]["n"] == 0


def test_a_part_that_only_some_runs_have_is_combined_over_those():
    combined = combine([0, 1], [run(1.0, []), run(1.0, [], tier={"mean": 0.5})])

    assert combined["intervals"]["occupancy"]["cpu_tier"]["mean"]["n"] == 1


def test_it_goes_to_json():
    assert '"confidence": 0.95' in to_json(combine([0], [run(1.0, [])]))


def test_summaries_of_draws_are_combined_to_bands() -> None:
    runs = [
        {"schema_version": 1, "ttft_s": {"p50": value}, "thin_percentiles": []} for value in (1.0, 3.0, 2.0)
    ]
    combined = combine([0], runs, [1, 2, 3])
    assert combined["bands"]["ttft_s"]["p50"] == band([1.0, 2.0, 3.0]).named("median")
    assert (combined["draws"], combined["coverage"]) == ([1, 2, 3], 0.95)
    assert "intervals" not in combined
    assert "confidence" not in combined
