"""What a comparison of policies prints: a line for each policy, everything against the first."""

import io
import re

import pytest
from rich.console import Console

from sim.runs.comparison import Comparison
from sim.show.text.compared import render_compared
from tests.runs.comparisons import routed
from tests.show.text.test_summary import lines

METRICS = ["requests.completed", "ttft_s.p50", "prefill.recomputation"]


def runs(policy: str, *latencies: float):
    return [routed(policy, ttft_s, seed) for seed, ttft_s in enumerate(latencies)]


def test_policies_are_lines_with_their_intervals_below() -> None:
    comparison = Comparison(
        ["kv", "oracle", "random"],
        [*runs("kv", 2.0, 4.0, 6.0), *runs("oracle", 1.0, 2.0, 3.0), *runs("random", 21.0, 22.0, 23.0)],
    )
    text = lines(render_compared(comparison, METRICS))
    table = [" ".join(line.split()) for line in text[5:12]]

    assert " ".join(text[0].split()) == "Routing policies, compared with kv means of seeds 0 to 2"
    # The mean of 2, 4, 6 lies between 4 / f and 4 f, f = e^(4.303 x 2 / sqrt(3) / 4); its distance from the
    # oracle is a tenth of 2 +- 4.303 / sqrt(3). The random one's is 20 in every pair: no interval.
    assert table == [
        "policy Requests completed TTFT p50 Recomputation Recomputation above oracle",
        "kv 240 4.00 s 40.0 % 20.0 pp",
        "1.16 to 13.9 s 11.6 to 139 % -4.84 to 44.8 pp",
        "oracle 240 2.00 s 20.0 % 0 pp",
        "578 ms to 6.93 s 5.78 to 69.3 %",
        "random 240 22.0 s≠ 220 %≠ 200 pp",
        "19.7 to 24.6 s 197 to 246 %",
    ]
    assert "oracle: each prompt to where most of it truly is" in " ".join(text)


def test_only_what_differs_from_the_first_beyond_its_interval_is_bold() -> None:
    comparison = Comparison(
        ["kv", "oracle", "random"],
        [*runs("kv", 2.0, 4.0, 6.0), *runs("oracle", 1.0, 2.0, 3.0), *runs("random", 22.0, 24.1, 26.0)],
    )
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    console.print(render_compared(comparison, METRICS[:2]))
    printed = console.file.getvalue()

    assert re.search(r"\x1b\[1m *24.0 s≠", printed)
    assert not re.search(r"\x1b\[1m *2.00 s", printed)


def test_points_are_blocks_of_lines() -> None:
    found = [
        routed(
            policy,
            ttft_s,
            workload={"sessions": n},
            written={"workload.sessions": str(n)},
        )
        for n, latencies in ((12, (1.0, 2.0)), (20, (3.0, 4.0)))
        for policy, ttft_s in zip(("kv", "random"), latencies, strict=True)
    ]
    text = lines(render_compared(Comparison(["kv", "random"], found), METRICS[1:2]))

    assert [line.split() for line in text[4:10]] == [
        ["sessions", "policy", "TTFT", "p50"],
        ["12", "kv", "1.00", "s"],
        ["12", "random", "2.00", "s"],
        [],
        ["20", "kv", "3.00", "s"],
        ["20", "random", "4.00", "s"],
    ]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_nothing_is_cut_on_narrow_terminals(width: int) -> None:
    comparison = Comparison(
        ["kv", "a-policy-with-a-long-name"],
        [*runs("kv", 2.0, 4.0, 6.0), *runs("a-policy-with-a-long-name", 1.0, 2.0, 3.0)],
    )
    console = Console(file=io.StringIO(), width=width)
    console.print(render_compared(comparison, METRICS))
    printed = console.file.getvalue()

    assert max(map(len, printed.splitlines())) <= width
    assert "…" not in printed
    assert "a-policy-with-a-long-name" in printed
    assert "578 ms to 6.93 s" in printed
