"""Results of `vllm bench forward`: what a case is, and what is refused."""

import copy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sim.base.errors import InputError
from sim.measured.formats.forward_json import read_forward
from tests.hardware.test_step_time import LAW
from tests.measured.forward import results, write

CASES = ("decode=3*1@101", "fresh=64", "one=1", "mix=16,2*8@24c,4*1@11")


def test_cases_are_prefills_and_decodes(tmp_path: Path) -> None:
    path = write(tmp_path / "forward.json", results(LAW, CASES, ranks=2))
    found = read_forward(path)
    assert (found.gpus, found.sha256) == (2, sha256(path.read_bytes()).hexdigest())
    decode, fresh, one, mix = found.cases
    # The token that a decode computes is not yet in its context.
    assert (decode.name, decode.prefill, decode.decode_batch, decode.decode_context_tokens) == (
        "decode",
        (),
        3,
        300,
    )
    assert decode.time_s == pytest.approx(LAW.step_s([], 3, 300))
    assert (fresh.prefill, fresh.decode_batch, fresh.tokens) == (((64, 0),), 0, 64)
    assert (one.prefill, one.decode_batch) == (((1, 0),), 0)
    assert mix.prefill == ((16, 0), (8, 16), (8, 16))
    assert (mix.decode_batch, mix.decode_context_tokens, mix.tokens) == (4, 40, 36)
    assert mix.pairs == 16 * 8 + 2 * 8 * (16 + 4)
    assert mix.spread_percent == 0.1


def changed(change: dict[str, Any]) -> list[dict[str, Any]]:
    content = copy.deepcopy(results(LAW, CASES))
    for place, value in change.items():
        *outer, last = place.split(".")
        entry: Any = content[0]
        for key in outer:
            entry = entry[int(key) if key.isdigit() else key]
        entry[last] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "must be a list of cases"),
        ([], "must be a list of cases"),
        ([3], "case 1: a int, must be an object"),
        (changed({"case": 3}), "case = 3: must be a name"),
        (changed({"requests": []}), "'decode'.: requests: must be a list of 1 or more"),
        (changed({"requests.0.query_len": 0}), "query_len = 0: must be a whole number of 1 or more"),
        (changed({"requests.0.kv_len": True}), "kv_len = True: must be a whole number of 1 or more"),
        (
            changed({"requests.0.num_draft_tokens": 2}),
            "the law has no draft tokens; run the cases without :D",
        ),
        (changed({"median_us": 0}), "median_us = 0.0: must be above 0"),
        (changed({"median_us": "1"}), "median_us = '1': must be a number of 0 or more"),
        (changed({"ranks": None}), "ranks: must be a list of 1 or more"),
        (changed({"ranks.0.timing_scope": "target_and_drafter"}), "a drafter was timed.*--exclude-drafter"),
        (changed({"ranks.0.finite": False}), "finite = false"),
        ([*results(LAW, CASES), *results(LAW, CASES, ranks=2)], "cases of 1 and 2 ranks"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(InputError, match=rf"forward\.json: .*{message}"):
        read_forward(write(tmp_path / "forward.json", content))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for text, message in (("[{", "not valid JSON"), ('[{"a": 1, "a": 2}]', "twice|a")):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(InputError, match=rf"f\.json: .*({message})"):
            read_forward(tmp_path / "f.json")
    with pytest.raises(InputError, match=r"none\.json: No such file"):
        read_forward(tmp_path / "none.json")
