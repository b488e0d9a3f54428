"""Who hears all that the parts of a cluster tell each other, and changes nothing of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from sim.cluster.client import Act, Client
from sim.cluster.frontend import Frontend
from sim.cluster.kv_transfer import Pulls
from sim.cluster.observer import Observer
from sim.cluster.outbox import Outbox
from sim.cluster.pool import Pool
from sim.cluster.recorder import Recorder
from sim.cluster.request_state import RequestState
from sim.cluster.worker import Worker
from sim.events.clock import Clock
from sim.router import Booking, Decision
from sim.scenario.scenario import Scenario
from sim.workload.request import Answer


class Watched(Protocol):
    """The parts of a cluster, joined."""

    @property
    def clock(self) -> Clock:
        """Its clock."""

    @property
    def scenario(self) -> Scenario:
        """What it was built from."""

    @property
    def answers(self) -> Mapping[int, Answer]:
        """Which prompts hold the answer to which earlier request."""

    @property
    def client(self) -> Client:
        """Its client."""

    @property
    def frontend(self) -> Frontend:
        """Its front door."""

    @property
    def workers(self) -> Sequence[Worker]:
        """Its workers, by index."""

    @property
    def pulls(self) -> Pulls | None:
        """Transfers between workers; None in an aggregated cluster."""


class Watcher(Observer, Protocol):
    """Stands between the parts: before the recorder, before the front door, before and behind the client."""

    def outbox(self, frontend: Frontend, /) -> Outbox:
        """Return what workers are to send to in place of a front door."""

    def join(self, cluster: Watched, send: Act, /) -> Act:
        """Listen to the parts of a cluster that was built; return what its client is to call for `send`."""

    def booked(self, record: RequestState, pool: Pool, decision: Decision, booking: Booking, /) -> None:
        """A request was put on a router's books."""

    def retried(self, record: RequestState, /) -> None:
        """A request is to be tried again."""

    def pulled(self, request: int, n_bytes: int, start_s: float, end_s: float, /) -> None:
        """A transfer between workers ended."""

    def pull_stopped(self, request: int, /) -> None:
        """A transfer between workers never will."""

    def ends(self, ended: Act, /) -> Act:
        """Return what is to be told of ends in place of `ended`."""

    def stopped(self) -> None:
        """Nothing can happen any more, and requests that have not ended are as they stand."""

    def closed(self) -> None:
        """The recorder has closed its books."""


class BlockBytes(NamedTuple):
    """What a block takes."""

    host: int
    """In a CPU tier."""
    pulled: int
    """Where a decode worker reads it."""


MakeWatcher = Callable[[Recorder, int, float, int, BlockBytes], Watcher]
"""Makes one from the recorder to pass all on to, how many requests there are, how many of them may be in
flight, how many workers there are, and what a block takes."""
