"""Who says when: how long things take on their way, and until a step has been computed."""

from enum import Enum
from typing import NamedTuple, Protocol

from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan
from sim.hardware.coefficient_file import FrontendCoefficients
from sim.scenario.sections import FrontendSettings


class Part(Enum):
    """What of an answer comes to the front door."""

    FIRST_TOKEN = "first token"
    END = "end"
    OTHER = "other"
    """A token in between, or the word that there will be no answer."""


class Arrival(NamedTuple):
    """When a request comes to the queue of a worker, and its place among those that come then."""

    time_s: float
    place: int


class Delays(Protocol):
    """Says when something is there that is sent now, or begins; all times are simulated seconds."""

    @property
    def event_delay_s(self) -> float:
        """The least that KV events are on their way."""

    @property
    def sees_steps(self) -> bool:
        """Whether each step has to be asked for, so that none may be fast-forwarded."""

    def dispatched(self, request: int, now_s: float, *, decode: bool) -> Arrival:
        """Return when a request, by its index, comes to the worker that was chosen; `decode`: to decode."""

    def computed(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """Return when a step has been computed that starts at `start_s` and by the law takes `law_s`."""

    def answered(self, request: ActiveRequest, now_s: float, part: Part) -> float:
        """Return when a part of an answer is seen at the front door."""

    def heard(self, worker: int, output_s: float) -> float:
        """Return when the router's index hears what an output published.

        What a worker published before is never heard after.
        """


class ConstantDelays:
    """`Delays` of a simulation: each way takes its seconds, and a step what the law says."""

    sees_steps = False

    def __init__(self, *, dispatch_s: float, event_delay_s: float, answer_s: float) -> None:
        self.event_delay_s = event_delay_s
        self._dispatch_s = dispatch_s
        self._answer_s = answer_s

    def dispatched(self, request: int, now_s: float, *, decode: bool) -> Arrival:
        """See `Delays`."""
        return Arrival(now_s + self._dispatch_s, request)

    def computed(self, plan: StepPlan, start_s: float, law_s: float) -> float:
        """See `Delays`."""
        return start_s + law_s

    def answered(self, request: ActiveRequest, now_s: float, part: Part) -> float:
        """See `Delays`."""
        return now_s + self._answer_s

    def heard(self, worker: int, output_s: float) -> float:
        """See `Delays`."""
        return output_s + self.event_delay_s


def constant_delays(settings: FrontendSettings, coefficients: FrontendCoefficients) -> ConstantDelays:
    """Return the delays that a scenario sets and its coefficients give."""
    return ConstantDelays(
        dispatch_s=settings.dispatch_s,
        event_delay_s=settings.event_delay_s,
        answer_s=coefficients.alpha_out_s,
    )
