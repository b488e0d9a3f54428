"""Logs of engines, in every form in which they come: who wrote them, and what they say."""

import json
from pathlib import Path

import pytest

from sim.measured.formats.engine_log import EngineLog, is_engine_line, read_engine_log
from sim.measured.roles import Role, sniff

PREFIX = "(APIServer pid=11) INFO 12-01 09:00:01 [startup.py:47] "
BANNER = (
    f"{PREFIX}\r\n{PREFIX}       █     █     █▄   ▄█\r\n"
    f"{PREFIX} ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.33.0\r\n"
    f"{PREFIX}  █▄█▀ █     █     █     █  model   m\r\n"
)
COLOURED = (
    "\x1b[0;36m(APIServer pid=11)\x1b[0;0m  \x1b[93m▄▄\x1b[0m \x1b[94m▄█\x1b[0m "
    "\x1b[1m█     █     █ ▀▄▀ █\x1b[0m  version \x1b[1m0.28.0\x1b[0m\n"
)
ENGINE = "Initializing a V1 LLM engine (v0.33.0) with config: model='m', block_size=16"
BLOCK = "Setting attention block size to 832 tokens to ensure that attention page size is >= mamba page size."
KERNEL = "Using FlashInfer GDN prefill kernel (requested=auto, head_k_dim=128)."
OF_DYNAMO = (
    "\x1b[2m2027-01-15T08:00:00.000001Z\x1b[0m \x1b[32m INFO\x1b[0m "
    "\x1b[2mcore.__init__\x1b[0m\x1b[2m:\x1b[0m "
)


@pytest.mark.parametrize(
    "text",
    [
        BANNER,
        f"vLLM server version 0.33.0, serving model m\n{ENGINE}\n",
        "INFO 12-01 09:00:01 [api_server.py:1] vLLM API server version 0.33.0\n",
        f"(EngineCore pid=12) INFO 12-01 09:00:09 [core.py:140] {ENGINE}\n",
        f"{OF_DYNAMO}{ENGINE}\n",
        json.dumps({"asctime": "12-01 09:00:09", "levelname": "INFO", "message": ENGINE}) + "\n",
        json.dumps({"processName": "APIServer", "message": BANNER}) + "\n",
    ],
    ids=["banner", "no logo", "old", "engine", "Dynamo", "JSON", "JSON banner"],
)
def test_every_form_of_a_log_names_its_release(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(text, encoding="utf-8")
    assert read_engine_log(path) == EngineLog(releases=("0.33.0",))
    assert sniff(path) is Role.ENGINE_LOG


def test_colours_are_none_of_a_release(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(COLOURED, encoding="utf-8")
    assert read_engine_log(path) == EngineLog(releases=("0.28.0",))


def test_block_and_kernel_are_read_each_once(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(f"{BLOCK}\n{KERNEL}\n{BLOCK}\n{ENGINE}\n{ENGINE}\n", encoding="utf-8")
    assert read_engine_log(path) == EngineLog(("0.33.0",), (832,), ("FlashInfer",))


def test_logs_of_a_restarted_engine_are_one_in_order(tmp_path: Path) -> None:
    for name, version in (("a", "0.28.0"), ("b", "0.33.0")):
        (tmp_path / name).write_text(ENGINE.replace("0.33.0", version), encoding="utf-8")
    assert read_engine_log(tmp_path / "a", tmp_path / "b").releases == ("0.28.0", "0.33.0")


@pytest.mark.parametrize(
    "line",
    [
        b"INFO 12-01 09:00:00 [importing.py:53] Triton is installed but 0 active driver(s) found\n",
        b"the chart \xe2\x96\x88 of its version\n",
        b"GET /v1/completions version=HTTP/1.1\n",
        b"",
    ],
)
def test_other_programs_are_no_engine(line: bytes) -> None:
    assert not is_engine_line(line)
