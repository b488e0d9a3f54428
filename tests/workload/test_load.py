from pathlib import Path

import pytest

from sim.base.errors import InputError
from sim.workload.agent import generate
from sim.workload.load import load_workload
from sim.workload.settings import WorkloadSettings
from sim.workload.trace_file import load_trace
from tests.workload.files import DATA


def test_a_relative_path_starts_at_the_base_folder() -> None:
    settings = WorkloadSettings.model_validate({"path": "sessions.jsonl", "sessions": 1, "chunk_tokens": 64})
    expected = load_trace(DATA / "sessions.jsonl", sessions=1, chunk_tokens=64)
    assert load_workload(settings, seed=0, base_dir=DATA) == expected
    with pytest.raises(InputError, match=r"sessions\.jsonl: cannot be read"):
        load_workload(settings, seed=0, base_dir=DATA.parent)


def test_an_absolute_path_stays_what_it_is(tmp_path: Path) -> None:
    settings = WorkloadSettings(
        path=DATA.resolve() / "timed_trace.jsonl", format="timed_trace", sec_multiplier=2
    )
    assert load_workload(settings, seed=0, base_dir=tmp_path).requests[1].timestamp_s == 1.5


def test_a_profile_is_generated_from_the_seed(tmp_path: Path) -> None:
    settings = WorkloadSettings(
        profile="kct", sessions=2, turns=3, window="first", max_think_s=9, start_gap_s=4
    )
    expected = generate("kct", sessions=2, seed=5, turns=3, window="first", max_think_s=9.0, start_gap_s=4.0)
    assert load_workload(settings, seed=5, base_dir=tmp_path) == expected


def test_outputs_are_multiplied_and_prompts_are_not() -> None:
    def lengths(**settings: object) -> list[tuple[int, int]]:
        given = WorkloadSettings.model_validate({"path": "sessions.jsonl", "chunk_tokens": 64, **settings})
        requests = load_workload(given, seed=0, base_dir=DATA).requests
        return [(request.prompt_tokens, request.output_tokens) for request in requests]

    plain, longer = lengths(), lengths(output_factor=1.5)
    assert longer == [(prompt, -(-3 * output // 2)) for prompt, output in plain]
    assert plain == lengths(output_factor=1)


def test_an_answer_in_a_prompt_is_no_longer_than_what_is_given_out(tmp_path: Path) -> None:
    def answers(output_factor: float) -> list[tuple[int, int]]:
        settings = WorkloadSettings(profile="kct", sessions=2, turns=9, output_factor=output_factor)
        requests = load_workload(settings, seed=1, base_dir=tmp_path).requests
        return [
            (answer.end - answer.start, requests[answer.request].output_tokens)
            for answer in (request.answer for request in requests)
            if answer is not None
        ]

    assert any(tokens < output for tokens, output in answers(3))
    assert all(tokens == output for tokens, output in answers(0.1))
