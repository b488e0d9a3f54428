"""Who is told what a worker does, step by step or of a run of steps at once. It changes nothing of it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim.engine.active import ActiveRequest
from sim.engine.decode_run import DecodeRun
from sim.engine.engine import Engine
from sim.engine.plan import StepOutput, StepPlan
from sim.kv.events import KvEvent


class RunObserver(Protocol):
    """Who is told what runs do; `worker` is its index, times are seconds."""

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """Every request of a run received one token at each of these times."""

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """A run was given blocks: so many of the pool are in use from then on; nothing else changed."""

    def kv(self, worker: int, events: list[KvEvent]) -> None:
        """What the blocks that a run was given did to the cache."""


class Observer(RunObserver, Protocol):
    """Who is told what a worker does; `worker` is its index, times are seconds."""

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """A step was planned; `events` are what that did to the caches."""

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """An output was processed, with what that did to the caches."""

    def added(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """A request came to the queue."""

    def aborted(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """A request was taken out that nobody waits for any more."""

    def lost(self, worker: int, requests: Sequence[ActiveRequest], now_s: float) -> None:
        """The process is about to end, with all that it holds; it serves these requests."""

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """Queues and caches stand as the engine says from now on."""
