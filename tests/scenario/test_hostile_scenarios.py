"""Scenario files and overrides that hang, swell or nest: a message, status 2, at once."""

import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli import app

MINIMAL = """
model = "llama-3.1-8b-bf16"
gpu = "h100-80gb"
[workload]
profile = "kct"
sessions = 1
[workers]
count = 1
"""

CONTENTS = {
    "a key of 20,000 parts": ("a." * 20_000 + "b = 1\n" + MINIMAL, "a dotted key of more than 32 parts"),
    "quoted parts": ('"a" . ' * 20_000 + "b = 1\n" + MINIMAL, "a dotted key of more than 32 parts"),
    "20,000 dotted keys": (
        "".join(f"a{i}.b = 1\n" for i in range(20_000)) + MINIMAL,
        "and 19,980 more problems",
    ),
    "a header of 20,000 parts": (MINIMAL + "[" + "a." * 20_000 + "b]", "a dotted key of more than 32 parts"),
    "nested lists": ("title = " + "[" * 5_000 + "]" * 5_000 + MINIMAL, "nested too deeply"),
    "nested tables": ("title = " + "{a = " * 5_000 + "1" + "}" * 5_000 + MINIMAL, "nested too deeply"),
    "two megabytes": ("# " + "x" * (2 << 20) + MINIMAL, "is larger than 1 MiB"),
    "a number of 5,000 digits": ("seed = " + "9" * 5_000 + MINIMAL, "Exceeds the limit"),
    "a list over 20,000 lines": (
        "title = [\n" + "1,\n" * 20_000 + "]\n" + MINIMAL,
        "title = ",
    ),
    "a steering key": ('"\\u001b[2J" = 1\n' + MINIMAL, "\\x1b[2J: unknown key"),
    "a zero byte": ("title = '\0'" + MINIMAL, "not a TOML file"),
}


def refusal(*arguments: str) -> str:
    start = time.monotonic()
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == 2, result.output
    assert time.monotonic() - start < 10
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stderr
    return result.stderr


@pytest.mark.parametrize("name", CONTENTS)
def test_a_hostile_scenario_file_is_refused_quickly(tmp_path: Path, name: str) -> None:
    content, message = CONTENTS[name]
    path = tmp_path / "hostile.toml"
    path.write_text(content)
    found = refusal("run", str(path))
    assert message in found
    assert str(path) in found
    assert len(found) < 20_000


def test_a_scenario_that_is_no_file_is_refused_quickly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    assert "is a pipe; give a file" in refusal("run", str(tmp_path / "pipe.toml"))
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    assert "is a device; give a file" in refusal("run", str(tmp_path / "zero.toml"))
    (tmp_path / "folder.toml").mkdir()
    assert "is a folder; give a file" in refusal("run", str(tmp_path / "folder.toml"))
    assert "File name too long" in refusal("run", str(tmp_path / ("x" * 300 + ".toml")))
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    assert "symbolic links" in refusal("run", str(tmp_path / "loop.toml"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("workload.path=/dev/zero", "is not a file: /dev/zero is a device"),
        ("workload.path=" + "x" * 300, "too long"),
        ("workload.path='a\\u0000b'", "workload.path"),
        ("workload.path=~nobody-has-this-name/x", "workload.path"),
        ("model=/dev/zero.json", "No such file"),
        ("model.config=/dev/zero", "is a device"),
        ("timing.coefficients=/dev/zero", "is a device"),
        ("title=" + "[" * 5_000, None),
        ("output.tables=" + "[" * 5_000 + "]" * 5_000, "output.tables"),
        ("a." * 20_000 + "b=1", "unknown key"),
        ("seed=" + "9" * 5_000, "seed"),
        ("seed=1e400", "seed"),
        ("workload=" + "{a=" * 200 + "1" + "}" * 200, "workload"),
        ("engine.kv_blocks=\x1b[31m", "engine.kv_blocks"),
    ],
)
def test_a_hostile_override_is_refused_quickly(override: str, message: str | None) -> None:
    if message is None:
        assert CliRunner().invoke(app, ["capacity", "agg8", "--set", override]).exit_code == 0
    else:
        assert message in refusal("run", "agg8", "--set", override)


def test_a_pipe_as_a_trace_is_refused_quickly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace.jsonl")
    assert "is a pipe" in refusal("run", "agg8", "--set", f"workload.path={tmp_path / 'trace.jsonl'}")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"hidden_size": 1, "hidden_size": 2}', "9" * 5_000, "NaN", ""]
)
def test_a_hostile_model_configuration_is_refused_quickly(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert "config.json" in refusal("run", "agg8", "--set", f"model={tmp_path / 'config.json'}")
