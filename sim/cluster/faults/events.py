"""KV events that are lost, or late, on their way from a worker to the router.

Dynamo 1.5.0 numbers the events of a worker. A router that sees a gap asks the worker's local indexer for what
it missed ("KV Event Replay", Dynamo's documentation): events that were lost come with the next that arrives.
"""

from collections.abc import Sequence
from math import inf

from sim.base.uniform import uniform
from sim.cluster.faults.toll import Toll
from sim.cluster.outbox import Outbox
from sim.engine.active import ActiveRequest
from sim.engine.plan import StepOutput, StepPlan
from sim.kv.events import KvEvent
from sim.scenario.faults import Fault, KvEventsLate, KvEventsLost


def concerns_events(faults: Sequence[Fault], worker: int) -> bool:
    """Whether KV events of a worker are lost or late at some time.

    Such a worker fast-forwards nothing: its outputs have to be sent one by one.
    """
    kinds = (KvEventsLost, KvEventsLate)
    return any(isinstance(fault, kinds) and fault.worker in (None, worker) for fault in faults)


class EventFaults:
    """Stands between workers and the front door; an `Outbox` that passes everything on but some KV events."""

    def __init__(self, outbox: Outbox, tolls: Sequence[Toll], seed: int) -> None:
        self.event_delay_s = outbox.event_delay_s
        self._outbox = outbox
        self.begun_s = inf
        """When the time of faults began; infinity: it has not."""
        self._tolls = [toll for toll in tolls if isinstance(toll.fault, KvEventsLost | KvEventsLate)]
        self._seed = seed
        self._missed: dict[int, list[KvEvent]] = {}
        """By worker: what the router has not heard and could ask for."""
        self._unasked: set[int] = set()
        """Workers of which it has missed something without noticing."""
        self._last_s: dict[int, float] = {}
        """When the newest events of a worker were, or seemed to be, sent: they stay in order."""

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """See `EventOutbox`."""
        sent_s = output_s
        for toll in self._tolls:
            fault = toll.fault
            if not isinstance(fault, KvEventsLost | KvEventsLate) or fault.worker not in (None, worker):
                continue
            if not fault.at_s <= output_s - self.begun_s < fault.at_s + fault.for_s:
                continue
            if isinstance(fault, KvEventsLate):
                sent_s += fault.delay_s
            elif self._is_lost(fault, worker, output_s):
                toll.lost_event_blocks += sum(len(event.blocks) for event in events)
                self._missed.setdefault(worker, []).extend(events)
                if not fault.recovered:
                    self._unasked.add(worker)
                return
        if worker not in self._unasked:
            events = self._missed.pop(worker, []) + events
        sent_s = max(sent_s, self._last_s.get(worker, 0.0))
        self._last_s[worker] = sent_s
        self._outbox.kv_events(worker, events, sent_s)

    def _is_lost(self, fault: KvEventsLost, worker: int, output_s: float) -> bool:
        return uniform(self._seed, f"kv events of worker {worker} at {output_s!r}", 0) < fault.share

    def ask(self, worker: int, now_s: float) -> None:
        """The router asks a worker what it holds: it hears all that it missed."""
        self._unasked.discard(worker)
        missed = self._missed.pop(worker, [])
        if missed:
            self._outbox.kv_events(worker, missed, now_s)

    def forget(self, worker: int) -> None:
        """The worker is gone, and what it could be asked for."""
        self._unasked.discard(worker)
        self._missed.pop(worker, None)

    def output(self, worker: int, output: StepOutput) -> None:
        """See `Outbox`."""
        self._outbox.output(worker, output)

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """See `Outbox`."""
        self._outbox.given_up(worker, request, reason)

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """See `Outbox`."""
        self._outbox.pulls(worker, plan)

    def died(self, worker: int) -> None:
        """See `Outbox`."""
        self._outbox.died(worker)
