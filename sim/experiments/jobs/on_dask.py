"""Where runs are made: on the workers of a Dask cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.base.errors import InputError
from sim.experiments.jobs.engine import Engine, Outcomes
from sim.experiments.jobs.fingerprint import code
from sim.experiments.jobs.job import Job, attempt
from sim.runs.run import Run

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 10


def dask(scheduler: str) -> Engine:
    """Return an engine of the cluster whose scheduler has this address, such as tcp://10.0.0.1:8786.

    Its workers need the same version of the simulator, and trace files at the same paths.

    Raises:
        InputError: dask.distributed is not installed.

    """
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError(
            "--engine dask: dask.distributed is not installed; pip install 'distributed>=2024.8'"
        ) from error

    def outcomes(jobs: Sequence[Job]) -> Outcomes:
        with _connected(scheduler) as client:
            places = {client.submit(attempt, job, pure=False): place for place, job in enumerate(jobs)}
            try:
                for future in distributed.as_completed(places, loop=client.loop):
                    place = places[future]
                    yield place, _result(future, jobs[place])
            finally:
                client.cancel(list(places))

    return outcomes


def _connected(scheduler: str) -> "Client":
    """Return a client of a cluster whose workers run this code.

    Raises:
        InputError: no scheduler answers, or a worker runs something else.

    """
    from distributed import Client  # noqa: PLC0415
    from distributed.comm import get_address_host_port  # noqa: PLC0415

    try:
        # A client that fails on the address itself leaves a traceback when it is collected.
        get_address_host_port(scheduler, strict=True)
        client = Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"--scheduler {scheduler}: no Dask scheduler answers there: {error}") from error
    versions = client.run(code, on_error="return")
    others = [worker for worker, version in versions.items() if version != code()]
    if others:
        client.close()
        raise InputError(
            f"--scheduler {scheduler}: {', '.join(others)}: other code than here, or none; "
            "install the same version of the simulator on every worker"
        )
    return client


def _result(future: "Future", job: Job) -> Run:
    error = future.exception()
    if error is not None:
        return job.done(None, error=f"lost on the cluster: {type(error).__name__}: {error}")
    run: Run = future.result()
    return run
