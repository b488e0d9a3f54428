"""Pages of every command in terminals of any width: nothing is cut, no number is dropped; bars may be."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from sim.cli import app
from sim.commands import console
from tests.calibration.synthetic import write_tables
from tests.engine_runs import engine, simulated_run, write_csv
from tests.measured.small_run import SMALL, copy
from tests.published.files import line, write_targets

FEW = "--set workload.sessions=2 --set workload.turns=3"
ONE = "--set workload.sessions=1 --set workload.turns=1"
GENERATED = "trace generate sessions.jsonl --profile kct --sessions 3 --turns 4"
TALK = "--targets targets.csv --set workload.turns=1 --jobs 1 --seeds 1"

PAGES = {
    "run": "run agg8 --set workload.sessions=2",
    "run, limits and two pools": f"run 2p6d {FEW} --set slo.ttft_s=1 --set slo.e2e_s=10",
    "run, faults": f"run faults {FEW}",
    "run, repeated": f"run agg8 {FEW} --repeat 3",
    "run, draws": f"run agg8 {ONE} --draws 3",
    "compare": f"compare agg8 agg4 {FEW}",
    "compare, intervals": f"compare agg8 agg4 {FEW} --repeat 4",
    "compare, bands": f"compare agg8 agg4 {ONE} --draws 3",
    "compare, four": f"compare agg8 agg4 1p3d 2p6d {FEW} --metric prefill --metric e2e_s",
    "compare, long labels over bands": f"compare agg8 {ONE} --draws 2 --metric prefill",
    "compare, policies": f"compare agg8 --policies kv,round-robin,oracle {FEW}",
    "compare, policies and intervals": f"compare agg8 --policies kv,round-robin,oracle {FEW} --repeat 3",
    "sweep": f"sweep agg8 {FEW} --set router.overlap_score_credit=0,1",
    "sweep, intervals": f"sweep agg8 {FEW} --set router.overlap_score_credit=0,1 --repeat 3",
    "sweep, many numbers": f"sweep agg8 {ONE} --set router.overlap_score_credit=0,1 --metric prefill"
    " --metric e2e_s",
    "size": "size agg8 --slo ttft_s.p95<3 --sessions 2 --max-gpus 3 --host-ram 0,64GiB --repeat 1",
    "tune": f"tune agg8 --objective ttft_s.p50 {FEW} --trials 2 --repeat 1 --check 3",
    "explain": "explain saved 3",
    "capacity": "capacity agg8",
    "trace inspect": "trace inspect sessions.jsonl",
    "trace convert": "trace convert sessions.jsonl rows.jsonl --to timed_trace",
    "trace sample": "trace sample sessions.jsonl few.jsonl --sessions 2 --turns 2 --window last",
    "measured": f"measured inspect {SMALL}",
    "validate": f"validate cpu-agg2 --measured {SMALL} --measured other --seeds 2",
    "validate, timed": f"validate cpu-agg2 --measured {SMALL} --measured other --step timed --seeds 2",
    "validate, log": f"validate cpu-agg2 --measured {SMALL} --diff router-log",
    "validate, requests": "validate h100-qwen3-14b --requests runs.csv --no-baselines",
    "published clusters": "validate published",
    "published clusters, stored": "validate published --stored",
    "validate talk": f"validate talk {TALK}",
    "calibrate kernels": "calibrate kernels gemm.csv prefill.csv decode.csv"
    " --model llama-3.1-8b-bf16 --gpu h100-80gb --draws 5 --out kernels.toml",
}
SLOW = {
    "validate talk, variants": f"validate talk {TALK} --baselines",
    "validate talk, sensitivity": f"validate talk {TALK} --sensitivity",
    "calibrate talk": f"calibrate talk {TALK} --rounds 1 --out talk.toml",
    "calibrate requests": "calibrate requests h100-qwen3-14b --requests runs.csv --fit steady"
    " --free alpha_in_s --window 30 --starts 1 --draws 3 --jobs 1 --out fit.toml"
    " --set timing.coefficients=qwen3-14b-bf16_h100-80gb-kernels --set timing.c_tok_s_per_token=40us",
}
INPUTS: dict[str, Callable[[], object]] = {
    "sessions.jsonl": lambda: call(*GENERATED.split()),
    "saved": lambda: call("run", "agg8", *FEW.split(), "--out", "saved"),
    "other": lambda: copy(Path("other")),
    "runs.csv": lambda: write_csv(
        Path("runs.csv"),
        [
            simulated_run(engine("timing.c_step_s=2ms"), "steady", 8.0, 40),
            simulated_run(engine(), f"named at {'great ' * 9}length", 8.0, 40, seed=1),
        ],
    ),
    "targets.csv": lambda: write_targets(
        Path(),
        line(id="tokens", kind="static", metric="kv_blocks", unit="blocks", low="1635", high="1635"),
        line(id="first-token-when-fitted", may_be_fitted="yes", low="0.001", high="1000"),
        line(id="first-token-of-both", configurations="agg4 1p3d", combine="difference", low="5", high="9"),
    ),
    "gemm.csv": lambda: write_tables(Path(), "bfloat16"),
}
"""Files and folders that commands name, and what makes them."""


WIDTHS = (60, 80, 100, 120, 160)
NUMBER = re.compile(r"\d[\d,.]*")
BARS = set("█▏▎▍▌▋▊▉")


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result


def text(printed: Sequence[tuple[object, ...]], width: int) -> str:
    terminal = Console(width=width, color_system=None, highlight=False)
    with terminal.capture() as capture:
        for objects in printed:
            terminal.print(*objects)
    return capture.get()


@pytest.mark.parametrize(
    "command",
    [
        *(pytest.param(command, id=name) for name, command in PAGES.items()),
        *(pytest.param(command, id=name, marks=pytest.mark.slow) for name, command in SLOW.items()),
    ],
)
def test_a_narrow_terminal_gets_every_word_of_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, made in INPUTS.items():
        if name in command.split():
            made()
    printed: list[tuple[object, ...]] = []
    monkeypatch.setattr(console._Console, "print", lambda _, *objects: printed.append(objects))
    call(*command.split())

    wide = text(printed, 1000)
    words, numbers = set(wide.split()), Counter(NUMBER.findall(wide))
    assert len(words) > 20
    assert numbers
    for width in WIDTHS:
        page = text(printed, width)
        assert "…" not in page
        assert max(map(len, page.splitlines())) <= width
        # Columns that stand in several tables are there several times.
        assert not numbers - Counter(NUMBER.findall(page))
        drawn = {word for word in words if set(word) <= BARS}
        if width >= 80:
            assert words - drawn <= set(page.split())
        if width < 100:
            assert not BARS & set(page)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_list_of_scenarios_keeps_to_the_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    in_a_pipe = call("scenarios").stdout
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    lines = click.unstyle(call("scenarios").stdout).splitlines()
    assert max(map(len, in_a_pipe.splitlines())) > 100 >= width >= max(map(len, lines))
    assert " ".join(lines).split() == in_a_pipe.split()
