"""Limits on numbers of a summary."""

import pytest

from sim.base.errors import InputError
from sim.base.limits import Limit


@pytest.mark.parametrize(
    ("text", "metric", "bound", "below"),
    [
        ("ttft_s.p95<3", "ttft_s.p95", 3.0, True),
        (" itl_s.p99.9 <= 200ms ", "itl_s.p99.9", 0.2, True),
        ("throughput.requests_per_s>0.5", "throughput.requests_per_s", 0.5, False),
        ("by_tag.warm-up 2.e2e_s.p50<20", "by_tag.warm-up 2.e2e_s.p50", 20.0, True),
        ("95% of by_turn.later.ttft_s<3000ms", "within.by_turn.later.ttft_s<3.0", 0.95, False),
        ("99.5 % of e2e_s < 20", "within.e2e_s<20.0", 0.995, False),
    ],
)
def test_a_limit_is_read(text: str, metric: str, bound: float, below: bool) -> None:
    limit = Limit.read(text, "--slo")
    assert (limit.metric, limit.bound, limit.below, limit.text) == (metric, bound, below, text.strip())


@pytest.mark.parametrize(
    "text", ["", "ttft_s.p95", "<3", "ttft_s.p95<", "ttft_s.p95<x", "ttft_s.p95=3", "a<-1"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(
        InputError, match=f'--slo {text}: write NUMBER<LIMIT or NUMBER>LIMIT, such as "ttft_s'
    ):
        Limit.read(text, "--slo")


@pytest.mark.parametrize("text", ["0% of ttft_s<3", "101% of ttft_s<3", "95% of ttft_s>3", "9% of 9% of a<1"])
def test_a_share_is_of_requests_below_a_time(text: str) -> None:
    with pytest.raises(InputError, match=f"--slo {text}: write SHARE% of TIME<LIMIT"):
        Limit.read(text, "--slo")


def test_a_share_says_what_each_request_is_to_keep() -> None:
    assert Limit.read("95% of ttft_s<3", "--slo").within == "ttft_s<3.0"
    assert Limit.read("ttft_s.p95<3", "--slo").within is None


def test_a_margin_is_a_share_of_the_limit() -> None:
    below, above = Limit.read("a<4", ""), Limit.read("a>4", "")
    assert [below.margin(value) for value in (3, 4, 6)] == [0.25, 0, -0.5]
    assert [above.margin(value) for value in (3, 4, 6)] == [-0.25, 0, 0.5]
    assert Limit.read("preemptions<0", "").margin(3) == -3
