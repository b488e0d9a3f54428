"""Runs made, and those that a journal has."""

from pathlib import Path

from sim.experiments.jobs.execute import execute
from sim.experiments.jobs.job import Job, jobs_at
from sim.runs.journal import journal_in
from sim.runs.run import Run
from tests.experiments.jobs.fakes import fake_engine

SMALL = ["workload.sessions=2", "workload.turns=2"]


def two_points(repeat: int = 2) -> list[Job]:
    return jobs_at(
        {"agg8": "agg8"}, SMALL, [{"router.temperature": "0"}, {"router.temperature": "1"}], repeat
    )


def summary(job: Job) -> dict[str, float]:
    return {"x": job.scenario.router.temperature + job.scenario.seed / 3}


def test_results_are_in_the_order_of_the_jobs() -> None:
    jobs = two_points()
    seen: list[Run] = []
    backwards = fake_engine(summary)

    def engine(given):  # type: ignore[no-untyped-def]
        yield from reversed(list(backwards(given)))

    runs = execute(jobs, engine, seen.append)
    assert [(run.written["router.temperature"], run.seed) for run in runs] == [
        ("0", 0),
        ("0", 1),
        ("1", 0),
        ("1", 1),
    ]
    assert seen == runs[::-1]


def test_what_a_journal_has_is_not_run_again(tmp_path: Path) -> None:
    first: list[Job] = []
    with journal_in(tmp_path / "out") as journal:
        before = execute(two_points(1), fake_engine(summary, first), lambda _: None, journal)
    again: list[Job] = []
    seen: list[Run] = []
    with journal_in(tmp_path / "out") as journal:
        after = execute(two_points(2), fake_engine(summary, again), seen.append, journal)

    assert len(first) == 2
    assert [job.scenario.seed for job in again] == [1, 1]
    assert after[::2] == before
    assert len(seen) == 4


def test_a_run_that_failed_is_run_again(tmp_path: Path) -> None:
    def failing(given):  # type: ignore[no-untyped-def]
        for place, job in enumerate(given):
            yield place, job.done({"x": 1.0} if place else None, error="" if place else "no room")

    with journal_in(tmp_path / "out") as journal:
        assert execute(two_points(1), failing, lambda _: None, journal)[0].error == "no room"
    again: list[Job] = []
    with journal_in(tmp_path / "out") as journal:
        runs = execute(two_points(1), fake_engine(summary, again), lambda _: None, journal)

    assert [job.written["router.temperature"] for job in again] == ["0"]
    assert [run.error for run in runs] == ["", ""]


def test_a_point_is_known_however_it_is_written(tmp_path: Path) -> None:
    def jobs(sessions: str) -> list[Job]:
        return jobs_at({"agg8": "agg8"}, SMALL[1:], [{"workload.sessions": sessions}], 1)

    fixed = jobs_at({"agg8": "agg8"}, SMALL, [{}], 1)
    again: list[Job] = []
    for made in (jobs("2"), fixed, jobs("+2"), jobs("3")):
        with journal_in(tmp_path / "out") as journal:
            (run,) = execute(made, fake_engine(summary, again), lambda _: None, journal)
        assert run.written == made[0].written

    assert [job.scenario.workload.sessions for job in again] == [2, 3]
