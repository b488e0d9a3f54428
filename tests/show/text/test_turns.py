"""The table of first and later turns."""

from rich.console import Console, Group

from sim.show.text.turns import turn_table
from tests.results.test_metrics import completed, summary
from tests.show.text.test_summary import lines

REJECTED = {"status": "rejected", "reason": "exceeds_pool", "turn": 2, "prompt_tokens": 100}


def test_first_and_later_turns_have_a_line_each_and_what_was_rejected_is_missing_from_completed() -> None:
    rows = [completed(turn=0, session=str(n), ttft_s=4.0) for n in range(20)]
    found = summary(*rows, completed(turn=1, session="0", ttft_s=0.5, computed_prompt_tokens=90), REJECTED)
    assert lines(turn_table(found)) == [
        "",
        "Turns        requests  completed  TTFT p50  TTFT p95  cached   ideal  recomputed",
        "First turns        20         20    4.00 s   4.00 s*  70.0 %  99.0 %      50.0 %",
        "Later turns         2          1   500 ms*   500 ms*  70.0 %  99.0 %       350 %",
    ]


def test_where_all_turns_are_first_ones_there_is_no_table() -> None:
    found = turn_table(summary(completed()))
    assert isinstance(found, Group)
    assert not found.renderables


def test_the_table_fits_eighty_columns() -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(turn_table(summary(completed(turn=1))))
    assert len(capture.get().splitlines()) == 4
