"""Limits of what is queued at an engine's server (vLLM 0.33): who is refused, and what becomes of it."""

import pytest

from sim.cluster.api_server import ApiServer
from sim.engine.active import ActiveRequest
from tests.clusters import rows, run_cluster, scenario, trace, turn


class Rank:
    def __init__(self, *requests: ActiveRequest) -> None:
        self._requests = requests

    def unfinished(self) -> tuple[ActiveRequest, ...]:
        return self._requests


def request(prompt_tokens: int, *, outputs: int = 0, truncated: bool = False) -> ActiveRequest:
    made = ActiveRequest(0, prompt_tokens, 10, [])
    made.outputs, made.truncated = outputs, truncated
    return made


def server(reqs: int | None, tokens: int | None, *ranks: Rank) -> ApiServer:
    made = ApiServer(reqs, tokens)
    made.ranks += ranks
    return made


@pytest.mark.parametrize(("limit", "refused"), [(4, "max_num_queued_reqs"), (5, None), (None, None)])
def test_running_requests_of_all_ranks_count(limit: int | None, refused: str | None) -> None:
    running = Rank(request(9, outputs=1), request(9, outputs=1))
    waiting = Rank(request(9), request(9))
    assert server(limit, None, running, waiting).refusal() == refused


@pytest.mark.parametrize(
    ("prompt", "refused"),
    [(9_999, None), (10_000, "max_num_queued_tokens"), (10_001, "max_num_queued_tokens")],
)
def test_prompts_without_a_first_token_count_whole_and_the_next_one_not(
    prompt: int, refused: str | None
) -> None:
    answered = request(50_000, outputs=1)
    assert server(None, 10_000, Rank(request(prompt), answered)).refusal() == refused


def test_the_token_that_a_prefill_engine_took_off_counts() -> None:
    assert server(None, 10_000, Rank(request(9_999, truncated=True))).refusal() == "max_num_queued_tokens"


def refused_of(**engine: object) -> list[tuple[str, str | None]]:
    """Three requests at once, on one worker; a step takes 1 s."""
    turns = trace(*[turn(0, 20, 5, [i * 10, i * 10 + 1], str(i)) for i in range(3)])
    sections = {"workers": {"count": 1}, "engine": {"version": "0.33", **engine}}
    return [(row["status"], row["reason"]) for row in rows(run_cluster(scenario(**sections), turns))]


def test_a_request_beyond_the_limit_is_rejected_with_the_reason() -> None:
    found = refused_of(max_num_queued_reqs=2)
    assert sorted(found, key=str) == [("completed", None)] * 2 + [("rejected", "max_num_queued_reqs")]
    found = refused_of(max_num_queued_tokens=40)
    assert sorted(found, key=str) == [("completed", None)] * 2 + [("rejected", "max_num_queued_tokens")]


def test_a_client_that_tries_again_is_served() -> None:
    turns = trace(*[turn(0, 20, 5, [i * 10, i * 10 + 1], str(i)) for i in range(3)])
    sections = {
        "workers": {"count": 1},
        "engine": {"version": "0.33", "max_num_queued_reqs": 2},
        "replay": {"retries": 9},
    }
    cluster = run_cluster(scenario(**sections), turns)
    assert [row["status"] for row in rows(cluster)] == ["completed"] * 3


def test_none_is_refused_without_limits() -> None:
    assert refused_of() == [("completed", None)] * 3
