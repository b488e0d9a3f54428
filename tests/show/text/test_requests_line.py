"""The line that says how many requests there were."""

import pytest

from sim.show.text.summary import requests_line

REQUESTS = {
    **{"total": 12, "completed": 12, "rejected": 0, "unfinished": 0},
    **{"rejected_by_reason": {}, "unfinished_by_reason": {}},
}


@pytest.mark.parametrize(
    ("in_file", "start"),
    [
        (12_031, "12 requests of the 12,031 in the file: 12 completed"),
        (12, "12 requests: 12 completed"),
        (None, "12 requests: 12 completed"),
    ],
)
def test_a_part_of_a_file_is_said_on_top(in_file: int | None, start: str) -> None:
    assert requests_line({"requests": REQUESTS, "requests_in_file": in_file}).plain.startswith(start)
