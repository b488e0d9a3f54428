"""Fast forward: a worker takes a run of steady decodes at once, of known times and not seen by anybody yet.

Nothing of a run is visible before it is carried out: at its end, when something arrives at the worker (then
only what was processed before), or, for the blocks that it allocates, when somebody looks at caches.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from math import inf

import numpy as np
from numpy.typing import NDArray

from sim.cluster.observer import RunObserver
from sim.cluster.outbox import EventOutbox
from sim.engine.decode_run import DecodeRun, allocate, allocations, commit, decode_run, output_times
from sim.engine.engine import Engine
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.step_time import StepTime


class FastForward:
    """Of one worker: its run, if it has one."""

    def __init__(
        self,
        index: int,
        engine: Engine,
        *,
        step_time: StepTime,
        observer: RunObserver,
        outbox: EventOutbox,
        lazy_updates: LazyUpdates,
    ) -> None:
        self._index = index
        self._engine = engine
        self._step_time = step_time
        self._observer = observer
        self._outbox = outbox
        self._lazy_updates = lazy_updates
        self._in_flight = 0
        self._run: DecodeRun | None = None
        self._ends_s: NDArray[np.float64] = np.empty(0)
        """When the outputs of the run are processed, and after them those in flight then."""
        lazy_updates.enter(index, self._catch_up)

    def start(self, in_flight_s: deque[float], until_s: float) -> float | None:
        """Look for a run; return when the output is processed that ends it, None if there is no run.

        `in_flight_s` says when each step in flight has been computed; at `until_s` a copy is done, which ends
        the run before.
        """
        engine = self._engine
        run = decode_run(engine)
        if run is None:
            return None
        steps_s = self._step_time.decode_s(len(run.requests), run.context_tokens, run.steps)
        ends_s = output_times(in_flight_s, steps_s)
        # Strictly before the output that ends the run: at its instant others may have their say first.
        until_s = min(ends_s.item(run.steps), until_s)
        if ends_s.item(run.steps - 1) >= until_s:
            run.steps = bisect_left(ends_s, until_s, 0, run.steps)
            if not run.steps:
                return None
        self._run, self._ends_s, self._in_flight = run, ends_s, len(in_flight_s)
        unpublished = engine.publish()
        if unpublished:
            self._outbox.kv_events(self._index, unpublished, in_flight_s[0])
        if engine.steady.across_blocks:
            self._note_next_allocation(run)
        return ends_s.item(run.steps)

    def finish(self) -> deque[float] | None:
        """The run has come to its end: carry it out; return when the steps in flight have been computed."""
        run = self._run
        return None if run is None else self._carry_out(run, run.steps, self._ends_s.item(run.steps))

    def interrupt(self, now_s: float) -> deque[float] | None:
        """Something arrives: carry out what was processed before now. Else as `finish`."""
        run = self._run
        if run is None:
            return None
        passed = bisect_left(self._ends_s, now_s, 0, run.steps)
        return self._carry_out(run, max(passed, run.allocated), now_s)

    def last_output_s(self, before_s: float) -> float:
        """Return when the run's last output before a time was processed; minus infinity if there is none."""
        run = self._run
        passed = bisect_left(self._ends_s, before_s, 0, run.steps) if run is not None else 0
        return self._ends_s.item(passed - 1) if passed else -inf

    def _carry_out(self, run: DecodeRun, steps: int, now_s: float) -> deque[float]:
        engine, index = self._engine, self._index
        if engine.steady.across_blocks:
            self._allocate(run, steps, now_s)
            self._lazy_updates.note(index, inf)
        self._run = None
        if steps:
            commit(engine, run, steps)
            events = engine.drain_events()
            if events:
                self._observer.kv(index, events)
            self._observer.decoded(index, run, self._ends_s[:steps])
        return deque(self._ends_s[steps : steps + self._in_flight].tolist())

    # -- blocks allocated on the way ----------------------------------------------------------------------

    def _note_next_allocation(self, run: DecodeRun) -> None:
        due_s = self._ends_s.item(run.next_allocation) if run.next_allocation < run.steps else inf
        self._lazy_updates.note(self._index, due_s)

    def _catch_up(self, now_s: float, worker: float) -> None:
        """Allocate the blocks of the run that were planned before `worker` plans at this time."""
        run = self._run
        assert run is not None
        planned = bisect_right if self._index < worker else bisect_left
        self._allocate(run, planned(self._ends_s, now_s, 0, run.steps), now_s)
        self._note_next_allocation(run)

    def _allocate(self, run: DecodeRun, pairs: int, now_s: float) -> None:
        """Allocate what the run's first pairs need; what each evicts is published with the output after it.

        What everybody can have heard of by now goes out together.
        """
        ends_s, delay_s = self._ends_s, self._outbox.event_delay_s
        used = self._engine.cache.pool.used_blocks
        group: int | None = None
        for pair, blocks in allocations(self._engine, run, pairs):
            used += blocks
            self._observer.allocated(self._index, used, ends_s.item(pair))
            if group is not None and ends_s.item(pair + 1) + delay_s > now_s:
                self._allocate_through(run, group)
            group = pair
        if group is not None:
            self._allocate_through(run, group)
        run.allocated = pairs

    def _allocate_through(self, run: DecodeRun, pair: int) -> None:
        """Allocate the blocks of all pairs up to and with this one."""
        allocate(self._engine, run, pair + 1)
        events = self._engine.drain_events()
        if events:
            self._observer.kv(self._index, events)
            self._outbox.kv_events(self._index, self._engine.publish(), self._ends_s.item(pair + 1))
