"""`sim validate`: what it prints, and how bad input ends."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sim.base.shipped import scenario_path
from sim.cli import app
from tests.measured.small_run import SMALL, bench, copy


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments], terminal_width=100)


def test_it_prints_measured_beside_predicted() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--seeds", "2")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "small validated on cpu-agg2"
    assert "Workers and times as recorded measured predicted error LRU error" in lines
    assert "of them recomputed 32 32 0 32 0" in lines
    assert "Engine's cached tokens right for 3 of 3 requests, by the LRU for 3" in lines
    assert "worker0 2 2 2 of 2 33.3 %" in lines
    assert any(line.startswith("Tokens recomputed 32 ") for line in lines)
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_a_spread_of_durations_is_told() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--step", "free", "--seeds", "1", "--spread", "0.2")
    assert "· each seed takes recorded durations times exp(0.2 Z), Z standard normal" in result.stdout


def test_several_runs_end_with_a_line_for_each(tmp_path: Path) -> None:
    other = copy(tmp_path / "other")
    result = call("cpu-agg2", "--measured", str(SMALL), "--measured", str(other), "--step", "forced")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines() if line.strip()]
    assert lines[-3:] == [
        "Recomputed tokens measured forced LRU requests right free: 95 % measured is",
        "small 32 0 0 3/3 - -",
        "other 32 0 0 3/3 - -",
    ]


def test_json_has_every_number() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--step", "free", "--seeds", "1", "--format", "json")
    (run,) = json.loads(result.stdout)["runs"]
    assert run["forced"] is None
    assert run["free"]["seeds"] == 1
    assert run["free"]["predictions"]["recomputed_tokens"]["measured"] == 32
    assert run["settings"] == (
        'as the run\'s own files tell: workers.count = 2, engine.kv_blocks = 320, router.policy = "kv", '
        'router.version = "1.5", router.prefill_load_scale = 1.0, router.overlap_score_credit = 1.0'
    )


def test_everything_can_be_simulated_with_a_law_fitted_to_other_runs(tmp_path: Path) -> None:
    other = copy(tmp_path / "other")
    runs = ("--measured", str(SMALL), "--measured", str(other))
    result = call("cpu-agg2", *runs, "--step", "timed", "--fit", str(other), "--seeds", "2")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "All simulated measured repeats mean error 95 % of 2 seeds" in lines
    assert any(line.startswith("TTFT p50 200 ms 200 to 200 ms ") for line in lines)
    assert "· repeats of each other: small, other" in lines
    assert "· this run was held out of the fit" in lines
    assert "· this run was fitted to" in lines
    assert lines[-3].startswith("Error of the mean TTFT p50")
    assert lines[-1].startswith("other (fitted to) ")
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_a_run_is_given_once() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--measured", f"{SMALL}/../small")
    assert (result.exit_code, result.stderr) == (2, f"Error: --measured {SMALL}/../small: is given twice\n")


def test_a_fit_without_simulated_times_is_refused() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--fit", str(SMALL))
    assert (result.exit_code, result.stderr) == (2, "Error: --fit: only --step timed uses step times\n")


def test_a_run_is_fitted_to_once() -> None:
    fit = ("--fit", str(SMALL), "--fit", f"{SMALL}/../small")
    result = call("cpu-agg2", "--measured", str(SMALL), "--step", "timed", *fit)
    assert (result.exit_code, result.stderr) == (2, f"Error: --fit {SMALL}/../small: is given twice\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--spread", "0.2", "--step", "timed"), "--spread 0.2: only --step free and all use it"),
        (("--spread", "0.2", "--diff", "router-log"), "--spread 0.2: only --step free and all use it"),
        (("--spread", "inf"), "--spread inf: must be a finite number, 0 or more"),
    ],
)
def test_a_spread_without_effect_or_end_is_refused(options: tuple[str, ...], says: str) -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), *options)
    assert (result.exit_code, result.stderr) == (2, f"Error: {says}\n")


def test_a_run_of_another_layout_says_what_it_tells() -> None:
    result = call("2p6d", "--measured", str(SMALL))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {SMALL}: tells workers.count = 2, engine.kv_blocks = 320, ")
    assert "laid over the scenario: " in result.stderr
    assert "workers: give either count" in result.stderr


def test_json_has_the_spread_of_repeats(tmp_path: Path) -> None:
    content = bench() | {"ttfts": [0.3, 0.3, 0.1]}
    other = copy(tmp_path / "other", bench_json=json.dumps(content))
    runs = ("--measured", str(SMALL), "--measured", str(other))
    result = call("cpu-agg2", *runs, "--step", "timed", "--seeds", "1", "--format", "json")
    first, second = json.loads(result.stdout)["runs"]
    assert first["repeats"] == second["repeats"]
    assert first["repeats"]["runs"] == ["small", "other"]
    assert first["repeats"]["numbers"]["ttft_s.p50"] == {"values": [0.2, 0.3], "low": 0.2, "high": 0.3}
    assert first["timed"]["fitted"] is None
    assert first["timed"]["predictions"]["ttft_s.p50"]["error"]["difference"] < 0


def test_a_routers_log_is_computed_again() -> None:
    result = call("cpu-agg2", "--measured", str(SMALL), "--diff", "router-log")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "Of 6 logged costs 6 are what the terms in their lines come to (100 %)" in lines
    assert "aggregated, logged overlap 3 1 (33.3 %) 2 2 prefill, 2 decode" in lines
    assert (
        "With the logged overlap they first part at 100 ms, at the aggregated choice for row 1 of session b: "
        "worker0 has 0 prefill tokens booked in the log and 40 in the books; the first token of row 0 there "
        "was seen 100 ms later."
    ) in " ".join(lines)
    assert "row 2, aggregated 1.05 s worker1 decode 4 5 end, row 1 1.95 s" in lines
    assert not any("recorded" in line for line in lines)  # no other step was asked for
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_a_log_without_costs_is_a_note(tmp_path: Path) -> None:
    log = "".join(line for line in (SMALL / "router.log").open() if "Formula" not in line)
    folder = copy(tmp_path / "run", router_log=log)
    result = call("cpu-agg2", "--measured", str(folder), "--diff", "router-log", "--format", "json")
    (run,) = json.loads(result.stdout)["runs"]
    assert run["router_log"] is run["forced"] is run["free"] is None
    assert run["notes"][-1].startswith("no costs in a router's log")


def test_set_wins_over_what_the_run_tells() -> None:
    result = call(
        "cpu-agg2",
        "--measured",
        str(SMALL),
        "--step",
        "forced",
        "--set",
        "engine.kv_blocks=100",
        "--format",
        "json",
    )
    assert "kv_blocks" not in json.loads(result.stdout)["runs"][0]["settings"]


def test_bad_input_is_a_message() -> None:
    result = call("cpu-agg2", "--measured", "nowhere")
    assert (result.exit_code, result.stderr) == (2, "Error: nowhere: no such folder\n")
    result = call("cpu-2p2d", "--measured", str(SMALL))
    assert result.exit_code == 2
    assert "workers" in result.stderr
    assert call("cpu-agg2").exit_code == 2


def test_out_keeps_all_numbers_and_a_picture_of_the_errors(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    arguments = ("cpu-agg2", "--measured", str(SMALL), "--step", "forced", "--format", "json")
    result = call(*arguments, "--out", str(out))
    assert result.exit_code == 0
    assert (out / "summary.json").read_text(encoding="utf-8") == result.stdout
    assert (out / "validation.png").read_bytes().startswith(b"\x89PNG")
    again = call(*arguments, "--out", str(out))
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_latencies_that_rest_on_an_example_are_told(tmp_path: Path) -> None:
    mirror = tmp_path / "m.toml"
    made = CliRunner().invoke(app, ["init", "--measured", str(SMALL), "--out", str(mirror)])
    assert "examples stand there: gpu, model.preset" in made.stdout
    timed = (str(mirror), "--measured", str(SMALL), "--step", "timed", "--seeds", "1")

    def told(*arguments: str) -> str:
        result = call(*arguments)
        assert result.exit_code == 0, result.stderr
        return " ".join(result.stdout.replace("\n", " ").split())

    assert "m.toml has no source for gpu and model.preset, so latencies are another machine's" in told(*timed)
    assert "has no source for model.preset, so" in told(*timed, "--set", "gpu=h200-141gb")
    for without in (
        (*timed, "--set", "gpu=h200-141gb", "--set", "model.preset=qwen3-8b-bf16"),
        (*timed, "--set", "timing.preset=roofline"),
        ("cpu-agg2", *timed[1:]),
        (*timed[:3], "--step", "free", "--seeds", "1"),
    ):
        assert "has no source for" not in told(*without)


def test_times_that_are_fitted_rest_on_no_example(tmp_path: Path) -> None:
    cluster, other = tmp_path / "m.toml", copy(tmp_path / "other")
    shipped = scenario_path("cpu-agg2")
    text = shipped.read_text(encoding="utf-8").replace('"traces/', f'"{shipped.parent}/traces/')
    gpu = 'gpu = "h100-80gb"'
    assert gpu in text
    cluster.write_text(text.replace(gpu, f"{gpu}  # not told: an example"), encoding="utf-8")
    timed = (str(cluster), "--measured", str(SMALL), "--step", "timed", "--seeds", "1")
    assert "has no source for gpu" in " ".join(call(*timed).stdout.split())
    fitted = call(*timed, "--fit", str(other))
    assert fitted.exit_code == 0, fitted.stderr
    assert "has no source for" not in " ".join(fitted.stdout.split())
