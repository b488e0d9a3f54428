"""The way back: when the front door sees what engines give out, and when clients read it."""

from collections.abc import Callable

from sim.cluster.delays import Delays, Part
from sim.cluster.hosts import Hosts
from sim.engine.active import ActiveRequest
from sim.events.clock import Clock, Phase


class WayBack:
    """From workers to the front door, and from there to clients.

    Args:
        clock: of the simulation.
        delays: who says how long the way to the front door takes.
        hosts: the threads that answers go through; None: they take no time.
    """

    __slots__ = ("_clock", "_delays", "_hosts")

    def __init__(self, clock: Clock, delays: Delays, hosts: Hosts | None) -> None:
        self._clock = clock
        self._delays = delays
        self._hosts = hosts

    def answer(self, worker: int, request: ActiveRequest, act: Callable[[], None], part: Part) -> None:
        """Let the front door act on a first or last token when it sees it: the last thing that is done."""
        now_s = self._clock.now_s
        seen_s = self._delays.answered(request, self._passed_s(worker, now_s), part)
        self._clock.at(max(now_s, seen_s), Phase.OUTPUT, worker, act, last=True)

    def tell(self, worker: int, request: ActiveRequest, act: Callable[[], None]) -> None:
        """Let the front door act on what else is said of a request when it hears that."""
        seen_s = self._delays.answered(request, self._passed_s(worker, self._clock.now_s), Part.OTHER)
        self._clock.at(seen_s, Phase.OUTPUT, worker, act)

    def read_s(self) -> float:
        """Return when the client reads what comes to it now: it may have to post prompts before."""
        now_s = self._clock.now_s
        return now_s if self._hosts is None else self._hosts.client.passed_s(now_s)

    def _passed_s(self, worker: int, now_s: float) -> float:
        """Return when what an engine gives out now leaves the process in front of it."""
        return now_s if self._hosts is None else self._hosts.relays[worker].passed_s(now_s)
