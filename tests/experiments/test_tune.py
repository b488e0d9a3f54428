"""A search for settings, on functions whose best is known."""

import sys

import pytest

from sim.base.errors import InputError
from sim.experiments.jobs.job import Job
from sim.experiments.tune import WEIGHTS, Search, plan, tune
from tests.experiments.jobs.fakes import fake_runner

pytest.importorskip("optuna", reason="Optuna is not installed")

CREDIT, SCALE = "router.overlap_score_credit", "router.prefill_load_scale"


def bowl(job: Job) -> dict[str, dict[str, float]]:
    """A latency that is 1 at credit 1.5 and scale 4; the seed moves it. Another one rises with the credit."""
    credit, scale = job.scenario.router.overlap_score_credit, job.scenario.router.prefill_load_scale
    latency = 1 + (credit - 1.5) ** 2 + (scale - 4) ** 2 / 16
    return {"ttft_s": {"p95": latency + job.scenario.seed / 8}, "itl_s": {"p99": credit / 10}}


def search(*constraints: str, maximise: bool = False) -> Search:
    spaces = (f"{CREDIT}=0:2", f"{SCALE}=0.5:8:log")
    return plan("agg8", "ttft_s.p95", constraints, spaces, maximise=maximise)


def test_the_best_is_found_and_compared_with_the_default_on_other_seeds() -> None:
    ran: list[Job] = []
    tuned = tune(search(), fake_runner(bowl, ran), trials=40, repeat=2, check=4)

    assert tuned.best.holds
    assert float(tuned.best.written[CREDIT]) == pytest.approx(1.5, abs=0.3)
    assert float(tuned.best.written[SCALE]) == pytest.approx(4, abs=1)
    # The default has credit 1 and scale 1, over seeds 0 and 1: 1 + 0.25 + 0.5625 + 0.0625.
    assert tuned.default.value == 1.875
    assert tuned.best.value == min(trial.value for trial in tuned.trials if trial.value is not None)
    searched = {job.scenario.seed for job in ran if job.written}
    checked = [job.scenario.seed for job in ran[-8:]]
    assert (searched, checked) == ({0, 1}, [2, 2, 3, 3, 4, 4, 5, 5])


def test_the_difference_is_that_of_the_pairs() -> None:
    tuned = tune(search(), fake_runner(bowl), trials=5, repeat=1, check=3)
    row = tuned.beside()[0]

    assert (row.metric, row.default) == ("ttft_s.p95", pytest.approx(1.8125 + 2 / 8))
    assert row.best == pytest.approx(tuned.best.value + 2 / 8)
    # What the seed adds cancels out of each pair.
    assert row.difference.low == pytest.approx(row.difference.high) == pytest.approx(row.difference.value)


def test_the_default_is_the_first_trial() -> None:
    tuned = tune(search(), fake_runner(bowl), trials=1, repeat=1, check=3)
    assert tuned.best.written == {CREDIT: "1", SCALE: "1"}
    assert tuned.best.value == tuned.default.value


def test_a_default_outside_of_the_ranges_is_no_trial() -> None:
    spaces = (f"{CREDIT}=1.2:2",)
    tuned = tune(plan("agg8", "ttft_s.p95", (), spaces), fake_runner(bowl), trials=4, repeat=1, check=3)
    assert all(float(trial.written[CREDIT]) >= 1.2 for trial in tuned.trials)
    assert tuned.default.value == 1.8125


def picky(job: Job) -> dict[str, dict[str, float]]:
    """The bowl, with one of ten requests refused from credit 1.2 on, where the latency is best."""
    refused = int(job.scenario.router.overlap_score_credit >= 1.2)
    requests = {"total": 10, "completed": 10 - refused, "rejected": refused, "unfinished": 0}
    return bowl(job) | {"requests": requests}


def test_a_setting_that_completes_fewer_requests_than_the_default_does_not_win() -> None:
    tuned = tune(search(), fake_runner(picky), trials=30, repeat=1, check=3)

    assert float(tuned.best.written[CREDIT]) < 1.2
    assert (tuned.best.holds, tuned.best.not_completed) == (True, 0.0)
    losing = [trial for trial in tuned.trials if trial.more_lost]
    assert losing
    assert not any(trial.holds for trial in losing)
    assert min(trial.value for trial in losing if trial.value is not None) < (tuned.best.value or 0)


def test_who_limits_requests_decides_how_many_may_be_lost() -> None:
    tuned = tune(search("requests.completed>8"), fake_runner(picky), trials=30, repeat=1, check=3)
    assert float(tuned.best.written[CREDIT]) >= 1.2
    assert (tuned.best.holds, tuned.best.not_completed, tuned.best.more_lost) == (True, 1.0, 0.0)


def test_equal_searches_are_equal() -> None:
    first, second = (tune(search(), fake_runner(bowl), trials=15, repeat=1, check=3) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_limits_are_kept() -> None:
    tuned = tune(search("itl_s.p99<120ms"), fake_runner(bowl), trials=40, repeat=1, check=3)

    assert tuned.best.holds
    assert 1.05 <= float(tuned.best.written[CREDIT]) <= 1.2
    (limit,) = tuned.goal.limits
    assert tuned.kept_by(limit, "best") == (3, 3)


def test_the_least_outside_stands_for_none_that_keeps_the_limits() -> None:
    tuned = tune(search("itl_s.p99>0.5"), fake_runner(bowl), trials=20, repeat=1, check=3)

    assert not tuned.best.holds
    assert tuned.best.written[CREDIT] == max((trial.written[CREDIT] for trial in tuned.trials), key=float)


def test_the_highest_is_found_too() -> None:
    tuned = tune(search(maximise=True), fake_runner(bowl), trials=30, repeat=1, check=3)
    # The farthest from the bottom of the bowl is credit 0 with scale 8: 1 + 2.25 + 1.
    assert tuned.best.value == pytest.approx(4.25, abs=0.5)


def test_whole_numbers_are_searched_as_such() -> None:
    def latency(job: Job) -> dict[str, dict[str, float]]:
        return {"ttft_s": {"p95": abs((job.scenario.workload.sessions or 0) - 17.0)}}

    found = plan("agg8", "ttft_s.p95", (), ["workload.sessions=4:40"])
    tuned = tune(found, fake_runner(latency), trials=40, repeat=1, check=3)
    assert tuned.best.written["workload.sessions"] == "17"


def test_a_setting_that_fails_is_not_the_best() -> None:
    def run(jobs):  # type: ignore[no-untyped-def]
        return [
            job.done(None, error="no room") if job.scenario.router.overlap_score_credit > 1 else made
            for job, made in zip(jobs, fake_runner(bowl)(jobs), strict=True)
        ]

    tuned = tune(search(), run, trials=20, repeat=1, check=3)
    assert float(tuned.best.written[CREDIT]) <= 1
    assert any(trial.value is None for trial in tuned.trials)


def test_the_routers_weights_are_searched_unless_others_are_given() -> None:
    assert [space.key for space in plan("agg8", "ttft_s.p95").spaces] == [
        text.partition("=")[0] for text in WEIGHTS
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "agg9"}, "no scenario is called 'agg9'"),
        ({"spaces": ["router.policy=kv"]}, "--space router.policy=kv: write KEY=LOW:HIGH"),
        ({"spaces": ["seed=1:5"]}, "--space seed=1:5: every setting has the same seeds"),
        ({"spaces": ["router.nope=0:1"]}, "--space router.nope=0:1: unknown key"),
        ({"spaces": [f"{CREDIT}=0:1", f"{CREDIT}=1:2"]}, f"{CREDIT} is given twice"),
        ({"constraints": ["itl_s.p99"]}, "--constraint itl_s.p99: write NUMBER<LIMIT"),
        ({"fixed": ["seed=x"]}, "--set seed=x"),
        ({"objective": "ttft_s.p96"}, r"--objective ttft_s.p96: .*did you mean ttft_s.p99 or ttft_s.p95"),
        ({"objective": "ttft_s"}, "--objective ttft_s: is a table; give one of its numbers: ttft_s.n"),
        ({"objective": "schema_version"}, "--objective schema_version: no number of the summary"),
        ({"constraints": ["itl<1"]}, "--constraint itl: no number of the summary"),
    ],
)
def test_wrong_input_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**({"source": "agg8", "objective": "ttft_s.p95"} | arguments))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("objective", "constraints", "message"),
    [
        ("goodput.per_s", [], "--objective goodput.per_s: no number of the summary"),
        ("ttft_s.p95", ["goodput<1"], "--constraint goodput: no number of the summary"),
    ],
)
def test_unknown_numbers_of_what_not_every_run_has_are_refused_after_the_first_run(
    objective: str, constraints: list[str], message: str
) -> None:
    ran: list[Job] = []
    with pytest.raises(InputError, match=message):
        tune(plan("agg8", objective, constraints), fake_runner(bowl, ran), trials=9, repeat=1, check=3)
    assert len(ran) == 1


def test_a_missing_optuna_is_told_before_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    ran: list[Job] = []
    with pytest.raises(InputError, match="Optuna is not installed; pip install"):
        tune(search(), fake_runner(bowl, ran), trials=9, repeat=1, check=3)
    assert not ran


def test_a_scenario_that_cannot_be_run_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        tune(
            search(),
            lambda jobs: [job.done(None, error="no room") for job in jobs],
            trials=9,
            repeat=1,
            check=3,
        )
