import numpy as np
from rich.console import Console

from sim.base.shown import WIDTH
from sim.results.gauge import Occupancy
from sim.results.slo import Slo
from sim.runs.repeats import combine
from sim.show.text.facts import routing_facts
from sim.show.text.repeats import render_repeats, trace_note
from sim.show.text.summary import render
from tests.results.test_metrics import completed, summary


def lines(renderable):
    console = Console(width=WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    text = [line.rstrip() for line in capture.get().splitlines()]
    assert max(map(len, text)) <= WIDTH
    return text


def example(**more):
    rows = [completed(preemptions=1, ties=2, session=str(n % 2), worker=n, **more) for n in range(25)]
    rows.append({"status": "rejected", "reason": "exceeds_pool"})
    gaps = np.full(20_000, 0.0132)
    return summary(*rows, itl=gaps, slo=Slo(ttft_s=2), cpu_tier=Occupancy(0.25, 1.0))


SUMMARY = """\
agg8 · seed 0                                                                       10.0 s simulated
26 requests: 25 completed · 1 rejected (exceeds_pool 1) · 0 unfinished
  1 of 26 requests was rejected: exceeds_pool

TTFT p50     ITL p50     E2E p50     prefill recomputed     workers a session
1.00 s       13.2 ms     3.00 s      50.0 %                 12.5

Latency       n      mean       p50       p90       p95       p99     p99.9       max
TTFT         25    1.00 s    1.00 s   1.00 s*   1.00 s*   1.00 s*   1.00 s*    1.00 s
ITL      20,000   13.2 ms   13.2 ms   13.2 ms   13.2 ms   13.2 ms   13.2 ms   13.2 ms
TPOT         25    500 ms    500 ms   500 ms*   500 ms*   500 ms*   500 ms*    500 ms
E2E          25    3.00 s    3.00 s   3.00 s*   3.00 s*   3.00 s*   3.00 s*    3.00 s
Queue        25    250 ms    250 ms   250 ms*   250 ms*   250 ms*   250 ms*    250 ms

Prompt tokens cached: ideal 99.0 %, achieved 70.0 %
Recomputation 50.0 %  750 prompt tokens computed, 500 required (625 in whole blocks)
50.0 % by the engines' own counters

Prompt tokens, by source  tokens   share         Recomputed, by cause      tokens   share
computed                     750  30.0 %  ██▍    preempted                      0     0 %
hit in GPU memory          1,500  60.0 %  ████▊  partial or last block        100  40.0 %  ███▎
loaded from CPU tier         250  10.0 %  ▊      state checkpoint missing       0     0 %
total                      2,500                 on its way (in flight)         0     0 %
                                                 evicted on this worker         0     0 %
                                                 on another worker            150  60.0 %  ████▊
                                                 on no worker any more          0     0 %
                                                 total                        250

Workers a session  12.5 mean, 13 max        KV pool in use   50.0 % mean, 100 % max
Routing decisions  25, 25 of them ties      CPU tier filled  25.0 % mean, 100 % max
Over-credit        175 tokens               Preemptions      25, 0 output tokens redone
Throughput         2.50 requests/s          Output           12.5 tokens/s
Goodput            2.50 requests/s, 96.2 %  GPU time         0.00556 h
  within           TTFT 2.00 s

· * fewer than ten samples expected beyond this percentile
· Step times are priors.
"""


def test_the_summary_of_a_run():
    assert lines(render(example(), "agg8 · seed 0", ["Step times are priors."])) == SUMMARY.splitlines()


def test_nothing_measured_shows_as_a_dash():
    text = lines(render(summary({"status": "unfinished"}), "agg8"))

    assert text[1] == "1 request: 0 completed · 0 rejected · 1 unfinished"
    assert [line.split() for line in text if line.startswith("TTFT  ")] == [["TTFT", "0", *"-------"]]
    assert "Recomputation -  0 prompt tokens computed, 0 required (0 in whole blocks)" in text
    assert any("CPU tier filled  none" in line for line in text)
    assert not any("Goodput" in line for line in text)


def test_seeds_say_little_of_a_trace_file():
    generated, trace = {"path": None, "profile": "talk"}, {"path": "mine.jsonl", "profile": None}
    assert trace_note([0, 1], [generated]) == trace_note([0], [trace]) == []
    (note,) = trace_note([0, 1], [generated, trace])
    assert note.startswith("a trace is the same with every seed")


def test_the_summary_of_several_seeds():
    runs = [example(ttft_s=ttft) for ttft in (1.0, 1.01, 1.02)]
    runs[2]["itl_s"]["p50"] = None
    text = lines(render_repeats(combine([0, 1, 2], runs), "agg8", ["Step times are priors."]))

    assert text[0].split() == ["agg8", "seeds", "0", "to", "2"]
    # Standard deviation 0.01, t(2) = 4.303: half width 0.0248: 1.01, by and times exp(0.0248 / 1.01).
    rows = dict(line.split("  ", 1) for line in text if "  " in line)
    assert rows["TTFT p50"].split() == ["1.01", "s", "985", "ms", "to", "1.04", "s", "1.00", "s", "1.02", "s"]
    assert rows["TTFT p99 *"].split()[:2] == ["1.01", "s"]
    assert rows["ITL p50 (2 of 3 runs)"].split()[:2] == ["13.2", "ms"]
    assert rows["Tokens again: on another worker"].split() == ["150"] * 4
    assert text[-4:] == [
        "· The interval is that of the mean over the seeds, by Student's t, on a scale that keeps it within",
        "  what the number can be.",
        "· * fewer than ten samples expected beyond this percentile",
        "· Step times are priors.",
    ]


def test_the_summary_of_several_draws():
    runs = [example(ttft_s=ttft) for ttft in (1.0, 1.4, 1.2)]
    text = lines(render_repeats(combine([4], runs, [1, 2, 3]), "agg8"))

    assert text[0].split() == ["agg8", "3", "draws,", "seed", "4"]
    rows = dict(line.split("  ", 1) for line in text if "  " in line)
    assert text[1].split() == ["median", "95", "%", "band", "least", "most"]
    # A twentieth of the way to the median at each end.
    assert rows["TTFT p50"].split() == ["1.20", "s", "1.01", "to", "1.39", "s", "1.00", "s", "1.40", "s"]
    assert any(
        "· The band is the 95 % band of the draws, 2.5th to 97.5th percentile" in line for line in text
    )
    assert "· with fewer than 40 draws the ends of a band are about the least and the most of them" in text


def test_what_no_run_has_is_left_out_of_the_summary_of_seeds():
    text = lines(render_repeats(combine([0, 1], [summary(completed())] * 2), "agg8"))

    assert not any(line.startswith(("Goodput", "CPU tier filled")) for line in text)


def test_what_returns_with_answers_is_on_a_line_of_its_own():
    """A hit of 90 tokens where 80 are known from prompts: 10 of the 15 that return."""
    row = completed(local_hit_tokens=80, returned_tokens=15)
    said = "15 required tokens are of earlier answers and prompt ends before them: 10 hit, 5 computed again"
    assert said in lines(render(summary(row), "agg8"))
    assert not any("earlier answers" in line for line in lines(render(summary(completed()), "agg8")))


def test_regret_is_told_of_runs_that_were_asked_for_it() -> None:
    regret = {
        "placed_prompts": 240,
        "regretted_decisions": 12,
        "regret_tokens": 12_800,
        "regret_share": 0.032,
    }
    router = example()["router"]

    assert "Regret" not in routing_facts(example())
    assert (
        routing_facts(example() | {"router": router | regret})["Regret"] == "12,800 tokens, 3.20 % of prompts"
    )


def test_what_bounds_say_is_on_the_line_of_what_is_cached() -> None:
    found = summary(completed()) | {"bounds": {"round-robin": 0.61, "oracle": None}}
    said = "Prompt tokens cached: ideal 99.0 %, round robin would get 61.0 %, this run got 70.0 %, oracle -"
    assert said in lines(render(found, "agg8"))


def test_a_summary_of_an_earlier_version_says_nothing_of_what_is_cached() -> None:
    found = summary(completed())
    for name in ("hit_share", "ideal_hit_share"):
        del found["prefill"][name]
    assert not any("cached" in line for line in lines(render(found, "agg8")))
