"""Messages between the parts of the cluster: they arrive later, in the order they were sent."""

from collections.abc import Callable

import simpy

from sim.events.clock import Phase, at, comes_next


class Channel:
    """Delivers every message `delay_s` seconds after it was sent, in a phase of that instant."""

    def __init__(self, env: simpy.Environment, delay_s: float, phase: Phase) -> None:
        self._env = env
        self._delay_s = delay_s
        self._phase = phase

    def send(self, entity: int, deliver: Callable[[], None], *, last: bool = False) -> None:
        """Call `deliver` when the message arrives; `entity` orders messages that arrive together.

        `last`: nothing that the sender still does at this instant matters to the receiver, or the other way
        round. A message that takes no time, and comes before all else, is then delivered at once.
        """
        if last and not self._delay_s and comes_next(self._env, self._phase, entity):
            deliver()
            return
        event = at(self._env, self._delay_s, self._phase, entity)
        event.callbacks.append(lambda _: deliver())
