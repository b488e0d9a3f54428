"""The table of tags."""

from sim.show.text.tags import tag_table
from tests.results.test_metrics import completed
from tests.results.test_tags import RUNNING, by_tag, tagged
from tests.show.text.test_summary import lines


def test_a_tag_has_a_line_that_says_how_many_of_its_requests_completed() -> None:
    table = tagged(["slow [b]", "slow [b]"], completed(send_s=1.0, end_s=3.0, ttft_s=0.5), RUNNING)
    assert lines(tag_table(by_tag(table, 16))) == [
        "",
        "Tag       requests  completed  TTFT mean     p50     p90  E2E p50     hit  output tokens/s",
        "slow [b]         2          1     500 ms  500 ms  500 ms   3.00 s  70.0 %             2.50",
    ]
