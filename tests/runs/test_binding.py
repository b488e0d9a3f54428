"""What binds a cluster, from numbers that leave no doubt."""

from typing import Any

import pytest

from sim.base.limits import Limit
from sim.runs.binding import binding
from sim.runs.layouts import Layout
from sim.runs.run import Run

TWO = Layout(2)
SPANS = ("router_s", "queue_s", "prefill_s", "transfer_s", "rest_s")


def summary(
    largest: str = "prefill_s",
    *,
    pool: tuple[float, float] = (0.5, 0.9),
    preemptions: int = 0,
    recomputation: float = 0.0,
    busy: float = 0.1,
    itl_p50: float = 0.02,
    decoding_s: float = 100.0,
    completed: int = 10,
) -> dict[str, Any]:
    spans = {name: 8.0 if name == largest else 0.5 for name in SPANS}
    slowest = {"n": 2, "ttft_s": 10.0, **spans}
    return {
        "requests": {"total": 10, "completed": completed, "rejected": 10 - completed, "unfinished": 0},
        "not_completed": [],
        "ttft_s": {"p95": 9.0},
        "itl_s": {"p50": itl_p50, "p99": 0.5},
        "prefill": {"recomputation": recomputation, "by_cause": {"elsewhere": 7, "gone": 3}},
        "occupancy": {"pool": {"mean": pool[0], "max": pool[1]}, "decode_pool": None},
        "preemptions": preemptions,
        "simulated_s": 10.0,
        "time_spent": {
            "slowest": {"all": slowest, "by_turn": {"later": slowest | {"queue_s": 99.0}}},
            "decoding_s": decoding_s,
            "links": {"pcie": {"utilisation": busy, "waiting_s": 3.0, "n_bytes": 1}},
        },
    }


def binds(limit: str, layout: Layout = TWO, floor: float | None = None, **numbers: Any) -> str:
    run = Run("a", {}, {}, 0, summary(**numbers))
    found = binding(run, Limit.read(limit, "--slo"), layout, floor, 0.018)
    assert found is not None
    assert found.evidence
    assert found.helps
    return found.what


@pytest.mark.parametrize(
    ("numbers", "what"),
    [
        ({"largest": "router_s"}, "router queue"),
        ({"largest": "queue_s"}, "prefill queue"),
        ({"largest": "queue_s", "pool": (0.9, 1.0)}, "KV pool"),
        ({"largest": "queue_s", "pool": (0.5, 1.0), "preemptions": 3}, "KV pool"),
        ({"largest": "queue_s", "busy": 0.9}, "links"),
        ({"largest": "transfer_s"}, "links"),
        ({"largest": "prefill_s"}, "prefill batch"),
        ({"largest": "prefill_s", "recomputation": 0.8}, "recomputation"),
        ({"largest": "prefill_s", "recomputation": 0.8, "floor": 8.5}, "prompt itself"),
    ],
)
def test_a_time_to_first_token_is_bound_by_its_largest_part(numbers: dict[str, Any], what: str) -> None:
    assert binds("ttft_s.p95<3", **numbers) == what


@pytest.mark.parametrize("limit", ["by_turn.later.ttft_s.p99.9<3", "95% of by_turn.later.ttft_s<3"])
def test_a_part_of_the_requests_is_bound_by_its_own_times(limit: str) -> None:
    assert binds(limit, largest="prefill_s") == "prefill queue"


@pytest.mark.parametrize(
    ("layout", "numbers", "what"),
    [
        (Layout(2), {}, "prefill steps"),
        (Layout(2), {"itl_p50": 0.05}, "decode batch"),
        (Layout(1, 1), {}, "decode batch"),
        (Layout(2), {"preemptions": 1}, "KV pool"),
    ],
)
def test_time_between_tokens_is_bound_by_what_shares_their_steps(
    layout: Layout, numbers: dict[str, Any], what: str
) -> None:
    assert binds("itl_s.p99<0.1", layout, **numbers) == what


def test_a_whole_answer_is_bound_by_what_takes_longer() -> None:
    assert binds("e2e_s.p50<3", largest="queue_s", decoding_s=50.0) == "prefill queue"
    assert binds("e2e_s.p50<3", largest="queue_s", decoding_s=500.0, itl_p50=0.05) == "decode batch"


def test_evidence_says_where_the_time_went_and_how_many_decode() -> None:
    run = Run("a", {}, {}, 0, summary("queue_s"))
    first = binding(run, Limit.read("ttft_s.p95<3", ""), Layout(2), None, None)
    assert first is not None
    assert first.evidence.startswith(
        "the slowest 2 requests took 10.0 s on average: 8.00 s in workers' queues"
    )
    assert first.evidence.endswith("KV pool 50.0 % in use, 90.0 % at most")
    # 100 s of decoding in 10 s on 2 workers.
    gaps = binding(run, Limit.read("itl_s.p99<3", ""), Layout(2), None, 0.018)
    assert gaps is not None
    assert "5.00 requests decode at once on a worker" in gaps.evidence


def test_requests_that_do_not_complete_bind_before_all_else() -> None:
    run = Run("a", {}, {}, 0, summary("queue_s", completed=9))
    found = binding(run, Limit.read("ttft_s.p95<3", ""), Layout(2), None, None)
    assert found is not None
    assert found.what == "refusals"


@pytest.mark.parametrize("limit", ["gpu_hours<3", "throughput.requests_per_s>1", "by_tag.x.ttft_s.p95<1"])
def test_what_a_run_does_not_say_has_no_binding(limit: str) -> None:
    run = Run("a", {}, {}, 0, summary())
    assert binding(run, Limit.read(limit, ""), Layout(2), None, None) is None
    assert binding(Run("a", {}, {}, 0, {}), Limit.read("ttft_s.p95<3", ""), Layout(2), None, None) is None
