"""What a comparison prints: 100 columns, everything against the first scenario."""

import io

import pytest
from rich.console import Console

from sim.runs.comparison import Comparison
from sim.show.text.comparison import render_comparison
from tests.runs.comparisons import drawn, made, swept, two_points
from tests.show.text.test_summary import lines

METRICS = ["ttft_s.p50", "prefill.recomputation", "requests.completed"]


def printed(comparison, metrics=METRICS):
    return lines(render_comparison(comparison, metrics))


# Differences at 12: 1, 2, 3, so 2 ± 4.303 / sqrt(3). At 20: 0.5, 1.5, 1, so 1 ± 4.303 x 0.5 / sqrt(3);
# the ratio there is 1.5, times and by exp(0.621 / 1.5).
TWO_POINTS = """\
Compared with fast                                                             means of seeds 0 to 2
fast  The fast one
slow  The slow one

                    sessions    fast    slow         slow - fast            slow / fast
TTFT p50                  12  2.00 s  4.00 s    +2.00 s ± 2.48 s                  2.00≠
                          20  2.00 s  3.00 s    +1.00 s ± 1.24 s   1.50 (0.991 to 2.27)

Recomputation             12  20.0 %  40.0 %  +20.0 pp ± 24.8 pp                  2.00≠
                          20  20.0 %  30.0 %  +10.0 pp ± 12.4 pp   1.50 (0.991 to 2.27)

Requests completed        12     240     240                   0                   1.00
                          20     240     240                   0                   1.00

· ± is half of a 95 % interval over the seeds, paired by seed, and of ratios it is in brackets; bold
  and ≠: equal is outside of it
· [workload] of slow is not that of fast: what was sent differs
· a trace is the same with every seed: seeds move only the router's ties and other draws, and an
  interval says nothing of other traffic
"""


def test_two_scenarios_and_their_distance():
    # The traces differ only to show the note.
    comparison = two_points()
    for run in comparison.runs_at("slow", (20,)):
        run.settings["workload"]["path"] = "other.jsonl"

    assert printed(comparison) == TWO_POINTS.splitlines()


def test_three_scenarios_have_tables_of_distances_below():
    runs = [made("a", 1.0), made("b", 0.5), made("c-with-a-name", 4.0, thin=True)]
    text = printed(Comparison(["a", "b", "c-with-a-name"], runs))

    assert [line.split() for line in text[5:9]] == [
        ["a", "b", "c-with-a-name"],
        ["TTFT", "p50", "1.00", "s", "500", "ms", "4.00", "s*"],
        ["Recomputation", "10.0", "%", "5.00", "%", "40.0", "%"],
        ["Requests", "completed", "240", "240", "240"],
    ]
    assert [line.split() for line in text[10:12]] == [
        ["b", "-", "a", "b", "/", "a"],
        ["TTFT", "p50", "-500", "ms", "0.500"],
    ]
    assert [line.split() for line in text[15:17]] == [
        ["c-with-a-name", "c-with-a-name"],
        ["-", "a", "/", "a"],
    ]
    assert "+3.00 s" in text[17]
    assert "· no intervals: they take 3 seeds or more" in text
    assert "· * fewer than ten samples expected beyond this percentile" in text


def test_many_scenarios_go_on_below_with_the_first_again():
    names = [f"scenario-{n:02}" for n in range(9)]
    text = printed(Comparison(names, [made(name, 1.0 + n) for n, name in enumerate(names)]), METRICS[:1])
    headers = [line.split() for line in text if line.strip().startswith("scenario-00  ")]

    assert [name for header in headers[1:] for name in header if name != names[0]] == names[1:]
    assert len(headers) == 1 + 2


def test_one_scenario_has_no_distances():
    text = printed(Comparison(["a"], swept("a", {12: [1.0], 20: [2.0]})), METRICS[:1])

    assert text[0].split() == ["a", "seed", "0"]
    assert [line.split() for line in text[3:6]] == [
        ["sessions", "a"],
        ["TTFT", "p50", "12", "1.00", "s"],
        ["20", "2.00", "s"],
    ]
    assert len(text) == 7


def test_what_was_measured_for_some_seeds_only_is_marked():
    runs = [made("a", 1.0), made("a", 1.0, 1), made("b", 3.0), made("b", None, 1, error="no room")]
    text = printed(Comparison(["a", "b"], runs), METRICS[:1])

    assert text[5].split() == ["TTFT", "p50", "1.00", "s†", "3.00", "s†", "+2.00", "s", "3.00"]
    assert "· † without some of the runs: nothing was measured there" in text


def test_runs_that_no_number_is_of_are_named():
    runs = [*(made("default", 1.0 + seed, seed) for seed in range(3)), made("mine", 9.0)]
    text = printed(Comparison(["default", "mine"], runs), METRICS[:1])

    assert text[0].endswith("seed 0")
    assert text[5].split() == ["TTFT", "p50", "1.00", "s", "9.00", "s", "+8.00", "s", "9.00"]
    assert "· without runs that not all scenarios have: of default seeds 1 and 2" in text
    text = printed(Comparison(["a", "b"], [made("a", 1.0), made("b", 2.0, 1)]), METRICS[:1])
    assert text[5].split() == ["TTFT", "p50", "1.00", "s†", "2.00", "s†", "-", "-"]
    assert any(line.startswith("· no seed and draw is common to all scenarios") for line in text)


def test_names_are_not_markup():
    text = printed(Comparison(["[a]"], [made("[a]", 1.0)]), METRICS[:1])

    assert text[1].split()[0] == "[a]"
    assert text[3].split() == ["[a]"]


def test_nothing_measured_is_a_dash():
    text = printed(Comparison(["a", "b"], [made("a", 1.0), made("b", 1.0)]), ["goodput.share"])

    assert text[5].split() == ["goodput.share", "-", "-", "-", "-"]


def test_a_long_label_goes_on_beside_the_next_point():
    comparison = Comparison(["a"], swept("a", {12: [1.0], 20: [2.0]}))
    text = printed(comparison, ["prefill.by_cause.checkpoint", "prefill.by_cause.elsewhere"])

    assert [line[:26].strip() for line in text[4:6]] == ["Recomputed: state", "checkpoint missing"]


def test_keys_are_shortened_where_they_stay_apart():
    written = {"workload.sessions": "3", "router.overlap_score_credit": "0.5"}
    runs = [made("a", 1.0, workload={"sessions": 3}, written=written)]
    text = printed(Comparison(["a"], runs))
    assert [line.split() for line in text[3:5]] == [["overlap_score_"], ["sessions", "credit", "a"]]

    written = {"router.policy": "kv", "other.policy": "kv"}
    text = printed(Comparison(["a"], [made("a", 1.0, written=written)]))
    assert text[3].split() == ["router.policy", "other.policy", "a"]


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ([["law", "seed 0"], ["law", "seed 1"]], [["law", "seed 0"], ["law", "seed 1"]], ["· law"]),
        ([["law"]], [["roof"]], ["· a: law", "· b: roof"]),
        ([["law"]], [[]], ["· a: law"]),
    ],
)
def test_notes_that_hold_for_all_runs_of_a_scenario(a, b, shown):
    runs = [
        made(name, 1.0, seed, notes=notes)
        for name, many in (("a", a), ("b", b))
        for seed, notes in enumerate(many)
    ]
    text = printed(Comparison(["a", "b"], runs))

    assert [line for line in text if line.startswith("·")][1:] == shown


def test_only_what_leaves_out_equality_is_bold():
    runs = [made("a", value, seed) for seed, value in enumerate((1.0, 2.0, 3.0))]
    runs += [made("b", value, seed) for seed, value in enumerate((2.0, 3.0, 4.0))]
    runs += [made("c", value, seed) for seed, value in enumerate((2.0, 1.0, 3.0))]
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    console.print(render_comparison(Comparison(["a", "b", "c"], runs), METRICS[:1]))
    text = console.file.getvalue()

    assert "\x1b[1m+1.00 s≠" in text
    assert text.count("≠") == 2
    assert "\x1b[2m0 s ± " in text


# The 2.5th and 97.5th percentile are the second and the last but one of 41.
DRAWN = """\
Compared with fast                                                       medians of 41 draws, seed 0
fast  The fast one
slow  The slow one

                     fast          slow   slow - fast  slow / fast
TTFT p50           3.00 s        6.00 s      +3.00 s≠        2.00≠
           1.10 to 4.90 s  2.20 to 9.80 s  1.10 to 4.90 s         2.00

· below each number: the 95 % band of the draws, 2.5th to 97.5th percentile of runs over the ranges
  of the coefficients; no interval of a mean
· differences and ratios are paired by draw; bold and ≠: equal is outside of the band
"""


def test_draws_have_their_bands_below():
    assert [line.split() for line in printed(drawn(), ["ttft_s.p50"])] == [
        line.split() for line in DRAWN.splitlines()
    ]
    assert max(map(len, printed(drawn()))) <= 100
