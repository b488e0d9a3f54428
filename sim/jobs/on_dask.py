"""Where runs are made: on the workers of a Dask cluster."""

from collections.abc import Sequence

from sim.errors import InputError
from sim.jobs.engine import Engine, Outcomes
from sim.jobs.fingerprint import code
from sim.jobs.job import Job, attempt

_CONNECT_S = 10


def dask(scheduler: str) -> Engine:
    """Return an engine of the cluster whose scheduler has this address, such as tcp://10.0.0.1:8786.

    Raises:
        InputError: dask.distributed is not installed.

    """
    try:
        import distributed  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise InputError(
            "--engine dask: needs dask.distributed; pip install 'kv-routing-sim[dask]'"
        ) from error

    def outcomes(jobs: Sequence[Job]) -> Outcomes:
        from distributed import Client, as_completed  # noqa: PLC0415

        with _connected(scheduler) as client:
            _check_code(client)
            places = {
                client.submit(attempt, job, pure=False, key=f"sim-run-{place}"): place
                for place, job in enumerate(jobs)
            }
