"""Which of several front ends a request comes to."""

from sim.base.uniform import uniform
from sim.scenario.sections import LoadBalancing
from sim.workload.request import Request


class Balancer:
    """What stands before the front ends.

    One that is away gets no request. A session whose front end is away connects to another one, and stays
    there.
    """

    def __init__(self, front_ends: int = 1, rule: LoadBalancing = "session", seed: int = 0) -> None:
        self.front_ends = range(front_ends)
        self._rule = rule
        self._seed = seed
        self._open: list[int] = [*self.front_ends]
        self._turn = 0
        self._moved: dict[str, int] = {}
        """Sessions that are not where they were first."""

    def choose(self, request: Request) -> int | None:
        """Return the front end of a request that is sent now; None: all are away."""
        if not self._open:
            return None
        if len(self.front_ends) == 1:
            return 0
        if self._rule == "session":
            return self._of_session(request.session)
        if self._rule == "random":
            return self._drawn(self._open, "front end", request.index)
        self._turn += 1
        turn = self._turn - 1
        return self._open[turn % len(self._open)]

    def close(self, front_end: int) -> None:
        """Nobody listens there any more."""
        self._open = [other for other in self._open if other != front_end]

    def reopen(self, front_end: int) -> None:
        """It listens again."""
        self._open = sorted({*self._open, front_end})

    def _of_session(self, session: str) -> int:
        purpose = f"front end of session {session}"
        connected = self._moved.get(session)
        if connected is None:
            connected = self._drawn([*self.front_ends], purpose, 0)
        if connected not in self._open:
            connected = self._moved[session] = self._drawn(self._open, purpose, 0)
        return connected

    def _drawn(self, front_ends: list[int], purpose: str, request: int) -> int:
        return front_ends[int(uniform(self._seed, purpose, request) * len(front_ends))]
