"""What a search for settings found, worked out by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from sim.base.limits import Limit
from sim.runs.comparison import Comparison
from sim.runs.cost import Price
from sim.runs.run import Run
from sim.runs.tuning import Goal, Trial, Tuned
from sim.show.pictures.tuning import plot_trials, write_trials
from sim.show.text.tuning import render_tuned

LIMIT = Limit.read("itl_s.p99<0.2", "--constraint")


def run(scenario: str, seed: int, ttft_s: float, itl_s: float = 0.1) -> Run:
    summary = {"ttft_s": {"p95": ttft_s}, "itl_s": {"p99": itl_s}, "thin_percentiles": []}
    return Run(scenario, {"router": {"credit": 1.0}}, {}, seed, summary, ["a note"])


def tuned(best_s: Sequence[float], *, margin: float = 0.5, default_s: float = 4.0) -> Tuned:
    runs = [run("default", seed, 4.0 + seed) for seed in range(3, 3 + len(best_s))]
    runs += [
        run("best", seed, value, 0.3 if seed == 3 else 0.1) for seed, value in enumerate(best_s, start=3)
    ]
    best = Trial({"router.credit": "1.5"}, 2.0, (margin,))
    trials = [Trial({"router.credit": "1"}, default_s, (0.5,)), best]
    goal = Goal("ttft_s.p95", False, (LIMIT,))
    return Tuned("agg8", goal, [0, 1, 2], trials[0], trials, best, Comparison(["default", "best"], runs))


def shown(found: Tuned) -> str:
    console = Console(width=100, highlight=False)
    with console.capture() as capture:
        console.print(render_tuned(found))
    assert max(map(len, capture.get().splitlines())) <= 100
    return " ".join(capture.get().split())


def test_numbers_stand_beside_each_other_over_the_seeds_of_the_check() -> None:
    ttft, itl, *others = tuned([5.0, 6.0, 7.0]).beside()

    # The default: 7, 8, 9. Each pair differs by 2.
    assert (ttft.metric, ttft.default, ttft.best) == ("ttft_s.p95", 8.0, 6.0)
    assert ttft.difference == (-2.0, -2.0, -2.0, 3)
    assert itl.best == pytest.approx(0.5 / 3)
    assert all(row.default is None for row in others if row.metric != "ttft_s.p95")


def test_an_interval_holds_its_mean_and_widens_with_the_pairs() -> None:
    (ttft, *_) = tuned([5.0, 7.0, 5.0, 8.0, 9.0]).beside()
    difference = ttft.difference
    assert difference.value == pytest.approx(-2.2)
    assert difference.low is not None
    assert difference.high is not None
    assert -4.0 <= difference.low < -2.2 < difference.high <= -1.0


def test_a_limit_is_counted_by_seed() -> None:
    found = tuned([5.0, 6.0, 7.0])
    assert found.kept_by(LIMIT, "default") == (3, 3)
    assert found.kept_by(LIMIT, "best") == (2, 3)


def test_a_person_reads_settings_numbers_and_how_sure_they_are() -> None:
    text = shown(tuned([5.0, 6.0, 7.0]))
    for part in (
        "agg8: lowest TTFT p95 with ITL p99 < 200 ms 2 settings, 3 seeds each",
        "router.credit 1 1.5",
        "With seeds 3 to 5, which the search did not see",
        "TTFT p95 8.00 s 6.00 s -2.00 s -2.00 s to -2.00 s≠ 0.750",
        "ITL p99 < 200 ms 100 ms 167 ms +66.7 ms",
        "ITL p99 < 200 ms: kept with 2 of 3 seeds by the best, with 3 by the default",
        "in the search, seeds 0 to 2: 4.00 s by default, 2.00 s at best",
        "· a note",
    ):
        assert part in text


def test_a_person_is_told_that_nothing_holds_or_nothing_is_better() -> None:
    assert "no setting that was tried keeps ITL p99 < 200 ms" in shown(tuned([5.0, 6.0, 7.0], margin=-0.5))
    assert "nothing that was tried is better" in shown(tuned([5.0, 6.0, 7.0], default_s=2.0))


def test_a_person_is_told_that_nothing_was_measured() -> None:
    found = tuned([5.0, 6.0, 7.0])
    empty = replace(found, trials=[replace(trial, value=None) for trial in found.trials])
    assert "TTFT p95 was never measured in the search" in shown(empty)
    assert "no setting that was tried keeps" not in shown(empty)


def test_a_mean_outside_of_its_limit_is_marked() -> None:
    found = tuned([5.0, 6.0, 7.0])
    tight = replace(found, goal=Goal("ttft_s.p95", False, (Limit.read("itl_s.p99<0.15", ""),)))
    assert "ITL p99 < 150 ms 100 ms 167 ms !" in shown(tight)


def test_the_best_so_far_is_of_what_holds() -> None:
    found = tuned([5.0, 6.0, 7.0])
    values = [(3.0, 0.5), (1.0, -0.5), (2.0, 0.5), (4.0, 0.5)]
    trials = [Trial({"router.credit": "1"}, value, (margin,)) for value, margin in values]
    assert replace(found, trials=trials).best_so_far == [3.0, 3.0, 2.0, 2.0]
    highest = replace(found, goal=Goal("ttft_s.p95", True, (LIMIT,)), trials=trials)
    assert highest.best_so_far == [3.0, 3.0, 3.0, 4.0]


def test_money_and_what_binds_stand_below_the_numbers() -> None:
    found = tuned([5.0, 6.0, 7.0])
    spans = {"router_s": 0.0, "queue_s": 6.0, "prefill_s": 1.0, "transfer_s": 0.0, "rest_s": 0.0}
    further = {
        "gpu_hours": 0.4,
        "requests": {"total": 10, "completed": 10, "rejected": 0, "unfinished": 0},
        "occupancy": {"pool": {"mean": 0.5, "max": 0.9}, "decode_pool": None},
        "time_spent": {
            "slowest": {"all": {"n": 1, "ttft_s": 7.0, **spans}},
            "decoding_s": 1.0,
            "links": {},
        },
        "preemptions": 0,
    }
    runs = [replace(run, summary={**(run.summary or {}), **further}) for run in found.check.runs]
    priced = replace(found, check=Comparison(["default", "best"], runs), price=Price(2.5, "$"))
    text = shown(priced)
    assert "Cost of 1,000 requests $100.00 $100.00" in text
    assert "best prefill queue the slowest request took 7.00 s: 6.00 s in workers' queues, 1.00 s" in text
    assert "What would help next: more workers." in text
    assert priced.to_dict()["binds"]["best"]["what"] == "prefill queue"


def test_the_picture_shows_trials_settings_best_and_default(tmp_path: Path) -> None:
    found = tuned([5.0, 6.0, 7.0])
    outside = Trial({"router.credit": "0.5"}, 9.0, (-1.0,))
    found = replace(found, trials=[*found.trials, outside])
    over_trials, over_credit = plot_trials(found).axes
    assert (over_trials.get_xlabel(), over_credit.get_xlabel()) == ("trial", "router.credit")
    assert over_trials.get_ylabel() == "TTFT p95 (s)"
    offsets = [points.get_offsets().tolist() for points in over_credit.collections]
    assert offsets == [[[1.0, 4.0], [1.5, 2.0]], [[0.5, 9.0]], [[1.5, 2.0]]]
    steps = over_trials.get_lines()[0].get_ydata()
    assert list(steps) == [4.0, 2.0, 2.0]
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_trials(found, tmp_path / name)
    first, second = ((tmp_path / name / "trials.png").read_bytes() for name in ("a", "b"))
    assert first == second


def test_the_table_has_a_row_for_each_trial() -> None:
    assert tuned([5.0, 6.0, 7.0]).table().to_pylist() == [
        {
            "router.credit": "1",
            "ttft_s.p95": 4.0,
            "holds": True,
            "not_completed": 0.0,
            "margin of itl_s.p99<0.2": 0.5,
        },
        {
            "router.credit": "1.5",
            "ttft_s.p95": 2.0,
            "holds": True,
            "not_completed": 0.0,
            "margin of itl_s.p99<0.2": 0.5,
        },
    ]


def test_a_person_is_told_of_settings_that_lose_requests() -> None:
    found = tuned([5.0, 6.0, 7.0])
    losing = replace(found.trials[0], not_completed=3.0, more_lost=3.0)
    assert not losing.holds
    assert (
        "1 of 2 settings completed fewer requests than the default and could not win; a --constraint on a "
        "number of requests, such as requests.completed, takes the place of this rule"
    ) in shown(replace(found, trials=[losing, found.best]))
    assert "every setting that was tried completes fewer requests than the default" in shown(
        replace(found, trials=[losing], best=losing)
    )
