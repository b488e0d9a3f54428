"""The line of TOML text that a problem is on."""

from pathlib import Path

import pytest

from sim.scenario.overrides import Override
from sim.scenario.problems import Source, line_of

TEXT = """\
# seed = 0
title = \"\"\"
seed = 1
[offload]
\"\"\"
model.preset = "a"

gpu = { preset = "b", achieved = { fp8_dense = 0.5 } }

[output]
tables = [
    "workers",   # [engine]
]
[offload.link]
latency_s = "1us"
[engine]
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("title",), 2),
        (("model", "preset"), 6),
        (("gpu", "achieved", "fp8_dense"), 8),
        (("output",), 10),
        (("output", "tables"), 11),
        (("offload",), 14),
        (("offload", "link", "latency_s"), 15),
        (("engine",), 16),
        (("engine", "kv_blocks"), 16),
        (("offload", "cpu_bytes"), 14),
        (("seed",), None),
        ((), None),
    ],
)
def test_the_line_of_a_key_or_of_the_table_it_would_be_in(key: tuple[str, ...], line: int | None) -> None:
    assert line_of(TEXT, key) == line


def test_windows_line_ends_count_too(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"a = 1\r\n[b]\r\nc = 2\r\n")
    assert Source(path).place(("b", "c")) == f"{path}, line 3: b.c"


def test_the_last_override_that_gives_a_key_is_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("seed = 1\n[engine]\nkv_blocks = 1\n")
    overrides = [
        Override(("engine",), {"kv_blocks": 1}, "engine={kv_blocks=1}"),
        Override(("slo", "ttft_s"), 1, "slo.ttft_s=1"),
        Override(("slo", "ttft_s"), 2, "slo.ttft_s=2"),
    ]
    source = Source(path, overrides)
    assert source.place(("slo", "ttft_s"), "2") == "--set slo.ttft_s=2"
    assert source.place(("engine", "kv_blocks"), "1") == "--set engine={kv_blocks=1}: engine.kv_blocks = 1"
    assert source.place(("seed",), "1") == f"{path}, line 1: seed = 1"
    assert source.place(("slo",)) == f"{path}: slo"
    assert source.place(()) == str(path)
