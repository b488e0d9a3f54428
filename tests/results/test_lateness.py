"""Requests that leave after they were due: one worker, a limit of one in flight, steps of a second."""

import pytest
from rich.console import Console

from sim.report.page import render_page
from sim.results.lateness import from_due, is_notable, late_sentence, mean_numbers
from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, named_rows, scenario, trace, turn
from tests.report.html import parse

LIMITED = {"replay": {"client": "max-concurrency", "max_concurrency": 1}, "workers": {"count": 1}}


def three(**sections: object) -> RunResult:
    """Three prompts of one step, due at 0, 0 and 1.5 s, each a second long."""
    requests = trace(*(turn(at_s, 16, 1, [n], str(n)) for n, at_s in enumerate((0.0, 0.0, 1.5))))
    return run(scenario(**(LIMITED | sections)), trace=requests, step_time=Pace())


def text(result: RunResult, width: int = 100) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(result)
    return capture.get()


def test_the_wait_in_the_client_is_measured_beside_latencies_that_do_not_have_it() -> None:
    result = three()

    # Sent at 0, 1 and 2, each answered after a second.
    assert [row["late_s"] for row in named_rows(result.rows)] == [0.0, 1.0, 0.5]
    numbers = result.numbers
    assert [numbers[f"late_s.{key}"] for key in ("n", "mean", "p50", "p95", "max")] == [3, 0.5, 0.5, 0.95, 1]
    assert numbers["ttft_s.max"] == numbers["e2e_s.max"] == 1.0
    assert numbers["from_due.ttft_s.mean"] == numbers["from_due.e2e_s.mean"] == 1.5
    assert numbers["from_due.ttft_s.max"] == 2.0
    assert {"late_s.p95", "from_due.ttft_s.p95"} <= set(result.to_dict()["thin_percentiles"])


@pytest.mark.parametrize("client", ["open-loop", "turn-dependent"])
def test_who_has_no_limit_sends_nothing_late(client: str) -> None:
    result = three(replay={"client": client})
    assert (result.numbers["late_s.n"], result.numbers["late_s.max"]) == (3, 0.0)
    assert result.numbers["from_due.ttft_s.p50"] == result.numbers["ttft_s.p50"]
    assert "Sent late by" not in text(result)
    assert "!" not in text(result)


def test_a_page_says_how_late_and_what_it_is_from_due() -> None:
    page = text(three())
    row = next(line.split() for line in page.splitlines() if line.startswith("Sent late by"))
    assert row[:7] == ["Sent", "late", "by", "3", "500", "ms", "500"]
    assert (
        "! requests leave 500 ms after they were due, on average: with its limit on requests in flight the "
        "cluster does not keep up with the arrivals; from the time they were due TTFT p50 is 1.50 s, not "
        "1.00 s"
    ) in " ".join(page.split())
    assert "Sent late by" in text(three(), width=80)


def test_a_report_says_it_too() -> None:
    page = parse(render_page(three()))
    assert "Sent late by" in page.text
    assert "requests leave 500 ms after they were due, on average" in page.text


def test_an_explanation_says_when_a_request_was_due() -> None:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(three().explain(1))
    assert "sent at 1.00 s, 1.00 s after it was due" in capture.get()


def test_a_wait_is_notable_beside_the_latency() -> None:
    beside = {"ttft_s.mean": 1.0, "ttft_s.p95": 4.0, "late_s.p95": 0.4}
    assert not is_notable(beside | {"late_s.mean": 0.1})
    assert is_notable(beside | {"late_s.mean": 0.11})
    assert is_notable(beside | {"late_s.mean": 0.0, "late_s.p95": 0.41})
    assert is_notable({"late_s.mean": 1.0, "ttft_s.mean": None})
    assert not is_notable({})


def test_the_reason_is_said_once_and_a_latency_only_if_it_is_known() -> None:
    late = {"late_s.mean": 2.0}
    assert late_sentence(late, because=False) == "requests leave 2.00 s after they were due, on average"
    assert from_due("e2e_s.p99") == "from_due.e2e_s.p99"
    assert from_due("itl_s.p99") is None


def test_means_are_of_what_all_runs_have() -> None:
    assert mean_numbers([{"a": 1, "b": 2}, {"a": 2, "b": None}]) == {"a": 1.5}


def test_a_latency_that_reads_the_same_from_due_is_not_set_against_itself() -> None:
    """As where all that waited failed."""
    numbers = {"late_s.mean": 1.0, "ttft_s.p50": 2.7301, "from_due.ttft_s.p50": 2.7302}
    assert late_sentence(numbers).endswith("does not keep up with the arrivals")
