"""Single requests: families, popular prefixes, prompts that go on from earlier ones."""

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from sim.workload.request import Answer, Trace
from sim.workload.synthetic.rows import Rows


def made(*families: dict[str, Any], **more: Any) -> Trace:
    settings = {"kind": "rows", "requests": 40, "rate_per_s": 1, "arrivals": "even", "chunk_tokens": 10}
    return Rows.model_validate({**settings, "families": families, **more}).trace(0)


def test_all_begin_with_what_is_common_and_differ_behind_it() -> None:
    requests = made({"prompt_tokens": 45, "output_tokens": 1}, common_tokens=25).requests
    assert len({tuple(request.chunks[:2]) for request in requests}) == 1
    assert len({request.chunks[2] for request in requests}) == 40
    assert all(len(request.chunks) == 5 for request in requests)


def test_the_kth_prefix_is_drawn_in_proportion_to_a_power_of_k() -> None:
    """Slope 1 of three: 6 : 3 : 2."""
    family = {"prompt_tokens": 45, "output_tokens": 1, "prefixes": 3, "prefix_tokens": 30, "slope": 1}
    requests = made(family, requests=4400).requests
    found = sorted(Counter(request.chunks[2] for request in requests).values())
    assert found == pytest.approx([800, 1200, 2400], rel=0.06)


def test_a_prompt_is_longer_than_its_prefix() -> None:
    family = {"prompt_tokens": 5, "output_tokens": 1, "prefixes": 2, "prefix_tokens": 30}
    assert {request.prompt_tokens for request in made(family).requests} == {31}


def test_families_come_in_proportion_to_their_weights() -> None:
    one, two = ({"weight": w, "prompt_tokens": n, "output_tokens": 1} for w, n in ((3, 10), (1, 20)))
    found = Counter(request.prompt_tokens for request in made(one, two, requests=2000).requests)
    assert found[10] == pytest.approx(1500, rel=0.05)


def test_a_prompt_goes_on_from_the_newest_that_is_old_enough() -> None:
    """At 1 a second and 2 s: from the second before; the first two have none older, and take the first."""
    family = {
        "prompt_tokens": [100, 400],
        "output_tokens": 20,
        "continued_share": 1,
        "continued_after_s": 2,
    }
    requests = made(family).requests
    for index, request in enumerate(requests[1:], start=1):
        earlier = requests[max(index - 2, 0)]
        kept = min(earlier.prompt_tokens, request.prompt_tokens - 1) // 10
        assert list(request.chunks[:kept]) == list(earlier.chunks[:kept])
        if kept < len(request.chunks) - 1:
            assert request.chunks[kept] not in earlier.chunks
        end = earlier.prompt_tokens + 20
        held = Answer(earlier.index, earlier.prompt_tokens, end)
        assert request.answer == (held if request.prompt_tokens > end else None)


def test_times_are_cut_to_their_grain() -> None:
    times = [
        request.timestamp_s for request in made({"prompt_tokens": 9, "output_tokens": 1}, grain_s=3).requests
    ]
    assert times[:6] == [0, 0, 3, 3, 3, 6]


@pytest.mark.parametrize(
    ("families", "why"),
    [
        ([], "at least 1 item"),
        ([{"prompt_tokens": 9, "output_tokens": 1, "continued_share": 1.5}], "less than or equal to 1"),
        (
            [{"prompt_tokens": 9, "output_tokens": 1, "prefixes": 100_000}] * 10,
            "at most 1,000,000 prefixes",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(families: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        made(*families)
