"""Runs on a Dask cluster that the test starts."""

import os
from collections.abc import Iterator

import pytest

from sim.base.errors import InputError
from sim.experiments.jobs.engine import local
from sim.experiments.sweep import execute_plan, plan

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR"
    ) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_changes_nothing_but_the_place(scheduler: str) -> None:
    from sim.experiments.jobs.on_dask import dask

    made = plan("agg8", ["workload.sessions=2", "workload.turns=2", "router.temperature=0,1"])
    assert (
        execute_plan(made, dask(scheduler), lambda _: None).runs
        == execute_plan(made, local(1), lambda _: None).runs
    )


def test_a_run_that_is_lost_is_a_run_that_failed(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sim.experiments.jobs.on_dask

    monkeypatch.setattr(sim.experiments.jobs.on_dask, "attempt", _lost)
    (run,) = execute_plan(plan("agg8", []), sim.experiments.jobs.on_dask.dask(scheduler), lambda _: None).runs
    assert run.error == "lost on the cluster: OSError: no disk"


def _lost(job: object) -> None:
    raise OSError("no disk")


def test_workers_with_other_code_are_refused(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sim.experiments.jobs.on_dask

    monkeypatch.setattr(sim.experiments.jobs.on_dask, "code", os.getpid)
    with pytest.raises(InputError, match="other code than here, or none"):
        list(sim.experiments.jobs.on_dask.dask(scheduler)(plan("agg8", []).jobs))


def test_no_scheduler_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import sim.experiments.jobs.on_dask

    monkeypatch.setattr(sim.experiments.jobs.on_dask, "_CONNECT_S", 0.2)
    with pytest.raises(InputError, match="no Dask scheduler answers there"):
        list(sim.experiments.jobs.on_dask.dask("tcp://127.0.0.1:9")(plan("agg8", []).jobs))


@pytest.mark.parametrize("address", ["", "localhost:8786", "tcp://localhost"])
def test_an_address_that_is_none_is_refused_before_a_client_is_made(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sim.experiments.jobs.on_dask

    monkeypatch.setattr(distributed, "Client", pytest.fail)
    with pytest.raises(InputError, match=f"--scheduler {address}: no Dask scheduler answers there: "):
        list(sim.experiments.jobs.on_dask.dask(address)(plan("agg8", []).jobs))
