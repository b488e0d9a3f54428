"""What the routers of several front ends tell each other, and when it comes there (Dynamo 1.5.0).

Each message is sent once, to each of the others, and takes its time; one that is lost is lost for good.
"""

from functools import partial
from typing import Final, Literal

from sim.base.uniform import uniform
from sim.cluster.replica import Replica
from sim.events.clock import Clock, Phase
from sim.router import Booking
from sim.router.replicas import ReplicaSettings
from sim.router.synced import SyncedRouter, copy_of

AFTER_WORKERS: Final = 1 << 20
"""Messages come after all that workers give out at their instant, and before requests are routed then."""
What = Literal["booked", "first token", "freed"]


class ReplicaSync:
    """Joins the routers of one pool.

    Args:
        clock: of the simulation.
        pool: its name.
        settings: of its routers.
        seed: of the run.
    """

    def __init__(self, clock: Clock, pool: str, settings: ReplicaSettings, seed: int) -> None:
        self._clock = clock
        self._pool = pool
        self._delay_s = settings.replica_sync_delay_s
        self._loss = settings.replica_sync_loss
        self._seed = seed
        self._ends: list[tuple[SyncedRouter, Replica]] = []
        """By front end."""

    def join(self, router: SyncedRouter, replica: Replica) -> None:
        """Let the next front end's router hear of the others."""
        self._ends.append((router, replica))

    def send(self, sender: int, what: What, booking: Booking) -> None:
        """Tell all others of a booking of one front end's router, each unless the message is lost."""
        heard_s = self._clock.now_s + self._delay_s
        for receiver in range(len(self._ends)):
            if receiver != sender and not self._is_lost(sender, receiver, what, booking):
                told = copy_of(booking, heard_s) if what == "booked" else booking
                act = partial(self._hear, receiver, sender, what, told, heard_s)
                self._clock.at(heard_s, Phase.OUTPUT, AFTER_WORKERS + sender, act)

    def _is_lost(self, sender: int, receiver: int, what: What, booking: Booking) -> bool:
        if not self._loss:
            return False
        message = f"{self._pool} router {sender} tells {receiver}: {what} at {booking.booked_s!r}"
        return uniform(self._seed, message, booking.request) < self._loss

    def _hear(self, receiver: int, sender: int, what: What, booking: Booking, now_s: float) -> None:
        router, replica = self._ends[receiver]
        if what == "first token":
            router.first_token_elsewhere(sender, booking.request, now_s)
            replica.tell()
            return
        if what == "booked":
            router.booked_elsewhere(sender, booking, now_s)
        else:
            router.freed_elsewhere(sender, booking.request, now_s)
        if replica.observer is not None:
            replica.observer.told(sender, booking, booked=what == "booked")
        replica.tell()


class Sender:
    """Who hears of the bookings of one front end's router: its `Told`."""

    def __init__(self, sync: ReplicaSync, front_end: int) -> None:
        self._sync = sync
        self._front_end = front_end

    def booked(self, booking: Booking) -> None:
        """See `Told`."""
        self._sync.send(self._front_end, "booked", booking)

    def first_token(self, booking: Booking) -> None:
        """See `Told`."""
        self._sync.send(self._front_end, "first token", booking)

    def freed(self, booking: Booking) -> None:
        """See `Told`."""
        self._sync.send(self._front_end, "freed", booking)
