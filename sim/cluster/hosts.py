"""The threads that answers go through: of the process in front of each engine, and of the client."""

from sim.cluster.host_thread import HostThread
from sim.hardware.coefficients import Coefficients
from sim.hardware.hosts import HostCoefficients
from sim.scenario.scenario import Scenario


class Hosts:
    """Of one run.

    Args:
        coefficients: how long prompts keep them.
        workers: how many engines there are.
        way_s: from a worker's process to the client.
        coalesce: whether tokens that wait for the same process leave it as one chunk.
    """

    __slots__ = ("client", "coalesce", "relays", "way_s")

    def __init__(
        self, coefficients: HostCoefficients, workers: int, *, way_s: float, coalesce: bool = False
    ) -> None:
        self.client = HostThread(coefficients.client_s_per_token)
        self.relays = [HostThread(coefficients.relay_s_per_token) for _ in range(workers)]
        self.way_s = way_s
        self.coalesce = coalesce


def hosts_of(scenario: Scenario, times: Coefficients) -> Hosts | None:
    """Return the threads of a run; None if nothing ever waits for them."""
    if not (times.hosts.client_s_per_token or times.hosts.relay_s_per_token):
        return None
    way_s, coalesce = times.frontend.alpha_out_s, scenario.hosts.coalesce
    return Hosts(times.hosts, scenario.workers.ranks, way_s=way_s, coalesce=coalesce)
