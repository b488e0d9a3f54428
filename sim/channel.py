"""Messages between the parts of the cluster: they arrive later, in the order they were sent."""

from collections.abc import Callable

import simpy

from sim.clock import Phase, at


class Channel:
    """Delivers every message `delay_s` seconds after it was sent, in a phase of that instant."""

    def __init__(self, env: simpy.Environment, delay_s: float, phase: Phase) -> None:
        self._env = env
        self._delay_s = delay_s
        self._phase = phase

    def send(self, entity: int, deliver: Callable[[], None]) -> None:
        """Call `deliver` when the message arrives; `entity` orders messages that arrive together."""
        event = at(self._env, self._delay_s, self._phase, entity)
        event.callbacks.append(lambda _: deliver())
