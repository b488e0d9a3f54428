"""What a front door is given: the scenario's say, and who is told what it sees."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sim.cluster.hosts import Hosts
from sim.cluster.request_state import RequestState
from sim.engine.active import ActiveRequest
from sim.hardware.coefficient_file import FrontendCoefficients
from sim.kv.events import KvEvent
from sim.workload.request import Request

Published = Callable[[int, Sequence[KvEvent], float], None]
"""Is told of KV events: worker, events, time of the output that publishes them."""


class FrontDoor(NamedTuple):
    """What a scenario says of its front door."""

    coefficients: FrontendCoefficients
    max_model_len: int
    """In tokens, answer included."""
    attention_group: int | None
    """The engines' full-attention group: the router hears of no other, and without one of nothing."""
    track_outputs: bool = False
    """Whether the router hears of every block that an answer grows by."""
    hosts: Hosts | None = None
    """The threads that prompts keep busy; None: they take no time."""


class Listeners(NamedTuple):
    """Who is told what the front door sees."""

    ended: Callable[[Request], None]
    """Every request that is over."""
    unreachable: Callable[[int, ActiveRequest], None] | None = None
    """A request that came to a worker which is gone, in place of its being given up."""
    published: Published | None = None
    """The KV events of every worker's output."""
    turned_away: Callable[[RequestState], bool] | None = None
    """A request that was refused: says whether its client sends it again. None: no client does."""
