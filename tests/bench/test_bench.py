"""The command lines of the benchmarks: what they refuse, what they run and print."""

import json
import re
import sys
from pathlib import Path

import pytest

from sim.experiments.sweep import plan
from sim.scenario.load import load_scenario
from tests.bench import builds, choose, peer, process, scale
from tests.bench.cases import CASES, OWN_CASES
from tests.bench.ours import main as ours
from tests.bench.ours import measure
from tests.bench.synthetic import write_trace

FAKE_PEER = """
import json, sys
print("a line before")
numbers = dict.fromkeys(("wall_s", "cpu_s", "peak_rss_mib", "mean_ttft_ms", "mean_itl_ms"), 2.0)
print(json.dumps(numbers | {
    "num_requests": 3, "completed_requests": 3, "prefix_cache_reused_ratio": 0.5, "arguments": sys.argv[1:]
}))
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    write_trace(path, 3, 3.2, seed=0)
    return path


def refused(capsys: pytest.CaptureFixture[str], main, *arguments: object) -> str:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    assert left.value.code == 2
    return capsys.readouterr().err


def test_bad_arguments_are_refused(capsys: pytest.CaptureFixture[str], trace: Path, tmp_path: Path) -> None:
    def message(*arguments: object) -> str:
        return refused(capsys, peer.main, *arguments)

    assert "--case" in message("--trace", trace)
    assert "invalid choice: 'agg9'" in message("--trace", trace, "--case", "agg9")
    assert "--trace is missing" in message("--case", "agent", "--case", "agg8")
    assert "none: no such file" in message("--trace", "none", "--case", "agg8")
    assert "'0': must be a whole number above 0" in message(
        "--trace", trace, "--case", "agg8", "--rounds", "0"
    )
    assert "is a folder" in message("--trace", trace, "--case", "agg8", "--json", tmp_path)
    assert "no_script: no such file" in message("--case", "agent", "--peer-script", "no_script")
    with_peer = ("--trace", trace, "--case", "agg8", "--peer-script", trace, "--peer")
    assert "no_python: no such program" in message(*with_peer, "no_python")
    assert "has no package ai-dynamo" in message(*with_peer, sys.executable)
    assert "'x': must be a whole number above 0" in refused(capsys, scale.main, "--workers", "64,x")


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_both_sides_of_a_case_are_the_same_cluster(case) -> None:
    scenario = load_scenario(case.scenario, [f"workload.path={__file__}"])
    peers = dict(zip(case.peer[::2], case.peer[1::2], strict=True))
    workers, engine = scenario.workers, scenario.engine
    assert (workers.count, workers.prefill, workers.decode) == (
        (None, 2, 6) if "--prefill" in peers else (8, None, None)
    )
    assert scenario.block_tokens * engine.kv_blocks == int(peers["--block"]) * int(peers["--blocks"])
    assert scenario.router.policy.replace("-", "_") == peers.get("--router", "kv").replace("_router", "")
    assert (engine.max_num_seqs, engine.max_num_batched_tokens) == (256, 8192)
    assert scenario.timing.preset == "dynamo-mocker"
    front = {name: value for name, value in scenario.frontend if value}
    assert front == {"replicas": 1, "load_balancing": "session", "event_loss_recovered": True}
    assert scenario.model.kv_bytes_per_token == 131_072


def test_both_sides_run_in_turn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, trace: Path, tmp_path: Path
) -> None:
    script = tmp_path / "replay.py"
    script.write_text(FAKE_PEER)
    monkeypatch.setattr(peer, "peer_version", lambda *_: "Dynamo 0")
    monkeypatch.setattr(builds.Build, "measured", lambda _, scenario, *sets: measure(scenario, sets))
    written = tmp_path / "runs.json"
    arguments = ["--trace", trace, "--case", "rr8", "--rounds", 2, "--json", written]
    assert peer.main([*map(str, arguments), "--peer", sys.executable, "--peer-script", str(script)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("measured: plain build\n")
    assert "rr8, round 2 of 2: ours, plain" in printed.err
    assert "3 requests, medians of 2 rounds" in printed.out
    [case] = json.loads(written.read_text())
    plain, theirs = case["runs"]["ours, plain"], case["runs"]["Dynamo 0"]
    assert [run["completed_requests"] for run in plain] == [3, 3]
    assert theirs[0]["arguments"] == [str(trace), *CASES["rr8"].peer]


def test_a_real_run_in_its_own_process(trace: Path) -> None:
    run = builds.plain().measured(CASES["agg8"].scenario, f"workload.path={trace}")
    assert run["build"] == "plain"
    assert run["num_requests"] == run["completed_requests"] == 3
    assert 0 < run["cpu_s"] < 10
    assert 0 < run["imported_rss_mib"] <= run["peak_rss_mib"]
    # Three prompts that start with the same chunk, alone on workers of their own.
    assert run["prefix_cache_reused_ratio"] == 0
    assert run["mean_itl_ms"] == pytest.approx(5.8, abs=0.3)


def test_what_is_not_compiled_is_not_measured_as_compiled(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = ["--case", "talk", "--build", "both", "--compiled"]
    assert "no_python: no such program" in refused(capsys, peer.main, *asked, "no_python")
    fake = tmp_path / "python"
    fake.write_text("""#!/bin/sh\necho '{"build": "plain", "sources": "0"}'\n""")
    fake.chmod(0o755)
    message = refused(capsys, peer.main, *asked, fake)
    assert f"--build both: {fake} has no compiled build, only plain sources: `make fast` puts" in message
    assert f"{fake} has no compiled build" in refused(
        capsys, scale.main, "--build", "compiled", *asked[4:], fake
    )
    fake.write_text("#!/bin/sh\nexit 1\n")
    assert "has no simulator away from this checkout" in refused(capsys, peer.main, *asked, fake)
    lying = builds.Build("compiled", (sys.executable, "-c", """print('{"build": "plain"}')"""), tmp_path)
    with pytest.raises(process.MeasurementError, match="the compiled build was to be measured; the plain"):
        lying.measured("agg8")


def test_a_compiled_build_of_other_sources_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trace: Path
) -> None:
    fake = tmp_path / "python"
    fake.write_text("""#!/bin/sh\necho '{"build": "compiled", "sources": "others"}'\n""")
    fake.chmod(0o755)
    options = peer.parse(["--case", "rr8", "--trace", str(trace), "--build", "both", "--compiled", str(fake)])
    assert [build.name for build in options.builds] == ["plain", "compiled"]
    assert "of other sources than this checkout's" in capsys.readouterr().err
    here = ours(["--build"])
    fake.write_text(f"""#!/bin/sh\necho '{{"build": "compiled", "sources": "{here["sources"]}"}}'\n""")
    assert builds.compiled(str(fake))[1]


def test_variants_of_our_own_stand_side_by_side(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def fake(build: builds.Build, scenario: str, *overrides: str, repeat: int) -> dict[str, float]:
        made.append((scenario, overrides, repeat))
        cpu_s = 3.0 if "engine.fast_forward=false" in overrides else 2.0
        return {"wall_s": 1.0, "cpu_s": cpu_s, "peak_rss_mib": 90.0, "num_requests": 500}

    monkeypatch.setattr(builds.Build, "measured", fake)
    assert peer.main(["--case", "talk", "--rounds", "1"]) == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    assert ["plain", "1.000", "2.000", "4.000", "90.00", "1.00x"] in rows
    assert ["plain,", "fast-forward", "off", "1.000", "3.000", "6.000", "90.00", "1.50x"] in rows
    assert max(map(len, printed.splitlines())) <= 100
    assert made[0] == ("agg8", ("workload.sessions=28",), 0)
    assert len(made) == 4


def test_a_sweep_is_measured_as_a_whole() -> None:
    sets = ["router.overlap_score_credit=0,1", "workload.sessions=2", "workload.turns=2"]
    found = builds.plain().measured("agg8", *sets, repeat=2)
    assert (found["num_runs"], found["num_requests"], found["completed_requests"]) == (4, 16, 16)
    assert found["cpu_s"] > 0


@pytest.mark.parametrize("name", OWN_CASES)
def test_cases_of_our_own_can_be_run(name: str) -> None:
    for case in OWN_CASES[name]:
        for sets in case.variants.values():
            assert plan(case.scenario, [*case.overrides, *sets]).jobs


def test_a_failing_process_is_a_message(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(process.MeasurementError, match="failed with 1"):
        process.measured([sys.executable, "-c", "raise ValueError"])
    with pytest.raises(process.MeasurementError, match="printed no measurement"):
        process.measured([sys.executable, "-c", "print('hello')"])
    with pytest.raises(process.MeasurementError, match="No such file"):
        process.measured(["no_program"])
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert peer.main(["--trace", str(empty), "--case", "agg8"]) == 1
    assert "holds no row" in capsys.readouterr().err


def test_scale_prints_a_row_for_each_point(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def fake(build: builds.Build, scenario: Path, *overrides: str) -> dict[str, float]:
        measured.append(overrides[1:])
        return {"wall_s": 2, "cpu_s": 1.5, "peak_rss_mib": 90, "imported_rss_mib": 80, "mean_ttft_ms": 250}

    monkeypatch.setattr(builds.Build, "measured", fake)
    assert scale.main(["--requests", "10,1024", "--blocks", "--quick"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["10", "64", "512", "2.000", "1.500", "150.0", "90.00", "1,024", "250.0"] in rows
    assert ["1,024", "64", "512", "2.000", "1.500", "1.465", "90.00", "10.00", "250.0"] in rows
    assert ["workers.count=8", "engine.block_size=64", "engine.kv_blocks=32768"] in map(list, measured)
    assert len(measured) == 4


def test_choose_compares_a_checkout_with_itself_and_says_which_build(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    few = ["--workers", "3", "--rounds", "1", "--choices", "24"]
    assert choose.main([str(process.ROOT), *few]) == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"3 workers: .* us here, .* us there \((plain Python|compiled)\); ratio .*\n", said)
    assert choose.main([str(tmp_path), *few]) == 1
    assert f"{tmp_path}: no checkout" in capsys.readouterr().err
