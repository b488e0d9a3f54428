"""What the slowest requests waited for, by hand."""

import pytest

from sim.results.rows import Rows
from sim.results.time_spent import time_spent

AGGREGATED = {"send_s": 0.0, "routed_s": 1.0, "queued_s": 1.5, "first_scheduled_s": 3.5, "queue_s": 2.0}
SPLIT = {
    "prefilled_s": 10.0,
    "decode_queued_s": 10.5,
    "pull_start_s": 11.0,
    "pull_end_s": 13.0,
}


def test_parts_of_the_slowest_add_up_to_their_time_to_first_token() -> None:
    rows = Rows()
    requests = rows.tables["requests"]
    quick = {"status": "completed", "send_s": 0.0, "routed_s": 0.0, "queue_s": 0.0, "first_scheduled_s": 0.0}
    requests.row(index=0, turn=0, first_token_s=0.5, end_s=2.5, ttft_s=0.5, **quick)
    requests.row(
        index=1,
        turn=1,
        status="completed",
        first_token_s=14.0,
        end_s=15.0,
        ttft_s=14.0,
        **AGGREGATED,
        **SPLIT,
    )
    requests.row(index=2, turn=1, status="rejected", send_s=0.0)
    found = time_spent(requests, rows.tables["links"])

    slow = found["slowest"]["by_turn"]["later"]
    # Queue: 2 at the prefill worker, 0.5 at the decode worker. The rest: 0.5 to each of both, 1 at the end.
    assert slow == {
        "n": 1,
        "ttft_s": 14.0,
        "router_s": 1.0,
        "queue_s": 2.5,
        "prefill_s": 6.5,
        "transfer_s": 2.0,
        "rest_s": 2.0,
    }
    assert found["slowest"]["all"] == slow
    assert found["slowest"]["by_turn"]["first"]["prefill_s"] == 0.5
    assert found["decoding_s"] == pytest.approx(3.0)
    assert found["links"] == {}


def test_nothing_is_said_of_no_request_and_links_are_by_kind() -> None:
    rows = Rows()
    link = {"owner": 0, "direction": "in", "bandwidth_bytes_per_s": 1.0, "transfers": 1, "busy_s": 1.0}
    rows.tables["links"].row(kind="pcie", n_bytes=5, waiting_s=0.25, utilisation=0.5, **link)
    rows.tables["links"].row(kind="pcie", n_bytes=6, waiting_s=0.5, utilisation=0.75, **link)
    found = time_spent(rows.tables["requests"], rows.tables["links"])
    assert found["slowest"]["all"] == {"n": 0} | dict.fromkeys(
        ("ttft_s", "router_s", "queue_s", "prefill_s", "transfer_s", "rest_s")
    )
    assert found["links"] == {"pcie": {"utilisation": 0.75, "waiting_s": 0.75, "n_bytes": 11}}
