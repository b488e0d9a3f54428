"""What transfers between workers go over, with a clock: tells each that ends so."""

from collections.abc import Callable
from itertools import count
from math import inf

from sim.cluster.transport import Transport
from sim.events.clock import Clock, Phase

Ended = Callable[[], None]


class Wires:
    """Transfers under way, each with whom to tell of its end."""

    def __init__(self, clock: Clock, network: Transport) -> None:
        self.network = network
        self._clock = clock
        self._ended: dict[int, Ended] = {}
        self._numbers = count(-1, -1)
        self._alarm = 0

    def start(
        self,
        transfer_id: int,
        n_bytes: int,
        descriptors: int,
        source: int,
        target: int,
        *,
        ended: Ended,
        posting_s: float | None = None,
    ) -> None:
        """Start a transfer between the GPUs of two workers, called by a request's number.

        `posting_s`: how long posting its descriptors takes from now on; None: as long as the link says.
        """
        self._ended[transfer_id] = ended
        now_s = self._clock.now_s
        self.network.start(
            transfer_id, n_bytes, descriptors, source, target, now_s=now_s, posting_s=posting_s
        )
        self.arrange()

    def start_of_host(self, n_bytes: int, descriptors: int, source: int, target: int, ended: Ended) -> None:
        """Start a transfer between the host memories of two workers."""
        number = next(self._numbers)
        self._ended[number] = ended
        now_s = self._clock.now_s
        self.network.start(number, n_bytes, descriptors, source, target, now_s=now_s, of_host=True)
        self.arrange()

    def cancel(self, transfer_id: int) -> None:
        """Stop a transfer."""
        del self._ended[transfer_id]
        self.network.cancel(transfer_id, now_s=self._clock.now_s)

    def arrange(self) -> None:
        """See to it that ends are noticed, after something was started or stopped."""
        self._alarm += 1
        alarm, next_s = self._alarm, self.network.next_s()
        if next_s < inf:

            def ring() -> None:
                if alarm == self._alarm:
                    self._finish()

            self._clock.at(max(next_s, self._clock.now_s), Phase.OUTPUT, 0, ring)

    def _finish(self) -> None:
        for transfer_id in self.network.finish(self._clock.now_s):
            self._ended.pop(transfer_id)()
        self.arrange()
