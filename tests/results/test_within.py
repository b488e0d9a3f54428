"""Which share of the requests keeps a time, by hand."""

import pytest

from sim.base.errors import InputError
from sim.results.rows import Rows, Table
from sim.results.tags import mark_tags
from sim.results.within import Within, within


def table(*rows: tuple[int, str, float | None, float | None]) -> Table:
    requests = Rows().tables["requests"]
    for index, (turn, status, ttft_s, tpot_s) in enumerate(rows):
        requests.row(index=index, turn=turn, status=status, ttft_s=ttft_s, tpot_s=tpot_s)
    return requests


REQUESTS = table(
    (0, "completed", 9.0, 0.1),
    (1, "completed", 3.0, None),
    (1, "completed", 3.5, 0.3),
    (2, "completed", 1.0, 0.1),
    (2, "rejected", None, None),
)


def share(text: str, requests: Table = REQUESTS) -> float | None:
    asked = Within.read(text, "output.within")
    return within(requests, [asked])[str(asked)]


def test_a_request_at_the_bound_keeps_it_and_one_not_completed_does_not() -> None:
    assert share("ttft_s<3") == 2 / 5
    assert share("by_turn.later.ttft_s<3") == 2 / 4
    assert share("by_turn.first.ttft_s<3") == 0.0


def test_an_undefined_latency_is_kept() -> None:
    assert share("tpot_s<200ms") == 3 / 5


def test_shares_of_a_tag_and_of_nothing() -> None:
    tagged = table((0, "completed", 1.0, None), (1, "completed", 9.0, None))
    mark_tags(tagged, ["warm-up.x", None])
    assert share("by_tag.warm-up.x.ttft_s<3", tagged) == 1.0
    assert share("by_tag.other.ttft_s<3", tagged) is None


@pytest.mark.parametrize("text", ["itl_s<3", "ttft_s.p95<3", "ttft_s>3", "by_turn.third.ttft_s<3", "x"])
def test_what_no_request_has_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"output\.within"):
        Within.read(text, "output.within")
