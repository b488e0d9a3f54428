"""Who is preempted when a running request finds no blocks.

The victim is the request admitted last, or the least urgent. 0.28.0 preempts it, whatever becomes of its
blocks. With a connector that consumes, blocks of a request whose step is in flight come back a step later:
0.33.0 then preempts nobody, and plans no more running requests in this call.
"""

from sim.engine.active import ActiveRequest
from sim.engine.rule_set import Version


class Preemption:
    """`spares_in_flight`: no request is preempted whose blocks would not come back at once.

    `goes_on`: after a request that preempted itself the others are still looked at.
    """

    __slots__ = ("_spares_in_flight", "goes_on")

    def __init__(self, spares_in_flight: bool, goes_on: bool) -> None:
        self._spares_in_flight = spares_in_flight
        self.goes_on = goes_on

    def spares(self, victim: ActiveRequest) -> bool:
        """Whether nobody is preempted because this one would be."""
        return self._spares_in_flight and victim.in_flight > 0


def preemption(version: Version, *, frees_late: bool) -> Preemption:
    """Return the rule of a release; `frees_late`: blocks wait for the steps in flight."""
    return Preemption(False, False) if version == "0.28" else Preemption(frees_late, True)
