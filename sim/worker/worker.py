"""A worker: an engine with a clock and two copy streams.

The GPU computes steps strictly one after another. vLLM's loop plans the next step as soon as an output has
been processed (asynchronous scheduling: while another step is computed). Copies between GPU and host take the
time of the host link: a load starts with its step, a store when its step has been computed; they are reported
with the first output processed after their end. A step that must not run before certain copies are done (a
flush) waits for them. Steps without tokens cost nothing: they stand for the engine polling its copies.
"""

from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Literal, Protocol

import numpy as np
import simpy
from numpy.typing import NDArray

from sim.agenda import Agenda
from sim.clock import Phase, at_time
from sim.kv.events import KvEvent
from sim.worker.active import ActiveRequest
from sim.worker.decode_run import DecodeRun, commit, decode_run, next_taking, output_times, settle, takings
from sim.worker.engine import Engine, StepOutput
from sim.worker.host_link import HostLink
from sim.worker.lookup import EngineDiedError
from sim.worker.scheduler import StepPlan
from sim.worker.timing import StepTime

ENGINE_DIED = "engine_died"
"""Why requests of a worker are given up whose engine met a fault of vLLM 0.28.0."""


class Observer(Protocol):
    """Who is told what a worker does; `worker` is its index, times are seconds."""

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """A step was planned; `events` are what that did to the caches."""

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """An output was processed, with what that did to the caches."""

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """Every request of a run received one token at each of these times."""

    def grew(self, worker: int, used_blocks: int, now_s: float) -> None:
        """A run took blocks: so many of the pool are in use from then on; nothing else changed."""

    def kv(self, worker: int, events: list[KvEvent]) -> None:
        """What the blocks that a run took did to the cache."""

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """Queues and caches stand as the engine says from now on."""


class Outbox(Protocol):
    """Where a worker sends what others must know: the way there takes time, the sending does not."""

    event_delay_s: float
    """How long KV events are on their way."""

    def output(self, worker: int, output: StepOutput) -> None:
        """Tokens and ends of one step, whose output is processed now."""

    def kv_events(self, worker: int, events: list[KvEvent], output_s: float) -> None:
        """KV events that are published with the output of this time."""

    def given_up(self, worker: int, request: ActiveRequest, reason: str) -> None:
        """A request will never be served: it has outgrown the pool, or the engine has died."""

    def pulls(self, worker: int, plan: StepPlan) -> None:
        """Reads from other workers that a step posts now."""

    def died(self, worker: int) -> None:
        """The engine is no more: its requests were given up, and what it held for others is lost."""


class Worker:
    """The process of one engine. `add` hands it a request; observer and outbox hear what becomes of it."""

    def __init__(
        self,
        env: simpy.Environment,
        index: int,
        engine: Engine,
        *,
        step_time: StepTime,
        link: HostLink,
        observer: Observer,
        outbox: Outbox,
        agenda: Agenda,
        fast_forward: bool = True,
    ) -> None:
        self.engine = engine
        self._agenda = agenda
        agenda.enter(index, self._catch_up)
        self._env = env
        self._index = index
        self.link = link
        self._step_time = step_time
        self._observer = observer
        self._outbox = outbox
        self._fast_forward = fast_forward
        self._ends_s: deque[float] = deque()
        """When each step in flight has been computed."""
        self._run: DecodeRun | None = None
        self._run_ends_s: NDArray[np.float64] = np.empty(0)
        """When the outputs of the run are processed, and after them those in flight then."""
        self._alarm = 0
        self._dead = False
        self._polling = True
        """Nothing is computed: the engine waits for copies, or for requests."""
        self._polled = (0, 0, 0, 0)
        """What stood still if it is the same after the next poll."""
        self._pulled: list[int] = []
        self._read: list[int] = []
        """What other workers told since the last output, for the next one."""

    def add(self, request: ActiveRequest) -> None:
        """Queue a request now."""
        if self._dead:
            self._outbox.given_up(self._index, request, ENGINE_DIED)
            return
        self._interrupt_run()
        self.engine.add(request)
        self._observer.levels(self._index, self.engine, self._env.now)
        if self._polling:
            self._wake(self._env.now, Phase.SCHEDULE, self._poll)

    def report(self, *, pulled: Sequence[int] = (), read: Sequence[int] = ()) -> None:
        """Hear of requests whose pull has ended here, and of requests held here whose blocks were read."""
        if self._dead:
            return
        self._interrupt_run()
        self._pulled += pulled
        self._read += read
        self.engine.stir()
        if self._polling:
            self._wake(self._env.now, Phase.SCHEDULE, self._poll)

    # -- the loop -------------------------------------------------------------------------------------------

    def _wake(self, time_s: float, phase: Phase, act: Callable[[], None]) -> None:
        """Act at a time, unless something else is arranged before."""
        self._alarm += 1
        alarm = self._alarm
        moment = at_time(self._env, time_s, phase, self._index)
        moment.callbacks.append(lambda _: act() if alarm == self._alarm else None)

    def _plan(self) -> None:
        """Plan steps until the pipeline is full, then wait for the oldest one's output."""
        engine = self.engine
        for request in engine.drop_outgrown() if engine.preempted else ():
            self._outbox.given_up(self._index, request, "outgrew_pool")
        try:
            while len(engine.steps) < engine.max_steps and engine.needs_step:
                plan = self._plan_step()
                if engine.alone and not (plan.tokens or plan.preempted):
                    break  # the next one could do no more than this one
        except EngineDiedError:
            self._die()
            return
        self._observer.levels(self._index, engine, self._env.now)
        if self._busy:
            self._start_run()
            output_s = self._ends_s[0] if self._run is None else float(self._run_ends_s[self._run.steps])
            self._wake(output_s, Phase.OUTPUT, self._output)
        else:
            self._wait_for_copies()

    def _die(self) -> None:
        """Give up every request; the steps in flight come to nothing."""
        self._dead = True
        for request in self.engine.requests:
            self._outbox.given_up(self._index, request, ENGINE_DIED)
        self._outbox.died(self._index)

    @property
    def _busy(self) -> bool:
        """Whether a step in flight computes something, or waits for the copies that it has to flush."""
        for plan in self.engine.steps:
            if plan.tokens:
                return True
        return bool(self._ends_s) and self._ends_s[-1] > self._env.now

    def _output(self) -> None:
        """The oldest step has been computed."""
        if self._run is not None:
            self._commit_run(self._run, self._run.steps)
        self._process_oldest()
        if self._env.peek() > self._env.now:
            self._plan()
        else:
            self._wake(self._env.now, Phase.SCHEDULE, self._plan)

    def _wait_for_copies(self) -> None:
        """Sleep until a copy is done or a request arrives; but poll again at once after any change."""
        self._polling = True
        engine = self.engine
        if not engine.steps:
            return
        told = len(self._pulled) + len(self._read)
        state = (engine.cache.pool.changes, engine.waiting, self.link.changes, told)
        if state != self._polled:
            self._polled = state
            self._wake(self._env.now, Phase.SCHEDULE, self._poll)
        elif self.link.next_s() < inf:
            self._wake(self.link.next_s(), Phase.SCHEDULE, self._poll)

    def _poll(self) -> None:
        """Close the empty steps in flight, then plan anew."""
        self._polling = False
        if not self.engine.steps:
            self.engine.hear(*self._told())
        while self.engine.steps:
            self._process_oldest()
        self._plan()

    def _told(self) -> tuple[list[int], list[int]]:
        """What other workers told since this was last asked: requests pulled, requests read."""
        told = self._pulled, self._read
        if told[0] or told[1]:
            self._pulled, self._read = [], []
        return told

    def _process_oldest(self) -> None:
        engine, now_s = self.engine, self._env.now
        self._ends_s.popleft()
        done = [(job_id, None) for job_id in self.link.take_done(now_s)] if self.link.done_s else []
        output = engine.complete(done, *self._told())
        self._observer.processed(self._index, output, engine.news(), now_s)
        if output.events:
            self._outbox.kv_events(self._index, output.events, now_s)
        if output.tokens:
            self._outbox.output(self._index, output)

    # -- one step -------------------------------------------------------------------------------------------

    def _plan_step(self) -> StepPlan:
        now_s = self._env.now
        plan = self.engine.schedule()
        if plan.admitted:
            self._agenda.settle(now_s, self._index)  # the ledger looks at what is cached where
        self._observer.planned(self._index, plan, self.engine.news(), now_s)
        if self.engine.nixl is not None:
            self._outbox.pulls(self._index, plan)
        start_s = max(now_s, self._ends_s[-1]) if self._ends_s else now_s
        if plan.flushes:
            start_s = self._flush(plan, start_s)
        for job in plan.loads:
            self.link.submit(job, start_s)
        end_s = start_s + self._step_s(plan)
        for job in plan.stores:
            if job.job_id not in plan.flushes:
                self.link.submit(job, end_s)
        self._ends_s.append(end_s)
        return plan

    def _flush(self, plan: StepPlan, start_s: float) -> float:
        """Return when a step can start that has to wait for copies, perhaps for stores of its own plan."""
        for job in plan.stores:
            if job.job_id in plan.flushes:
                self.link.submit(job, start_s)
        return max([start_s, *(self.link.done_s.get(job_id, start_s) for job_id in plan.flushes)])

    def _step_s(self, plan: StepPlan) -> float:
        prefill: list[tuple[int, int]] = []
        batch = context = 0
        for request, tokens in plan.tokens:
            before = request.computed - tokens
            if tokens == 1:
                batch += 1
                context += before
            else:
                prefill.append((tokens, before))
        return self._step_time.step_s(prefill, batch, context)

    # -- fast-forward ---------------------------------------------------------------------------------------

    def _start_run(self) -> None:
        """Look for a run of decode steps and its times; nothing of it is visible before it is committed."""
        engine = self.engine
        run = decode_run(engine) if self._fast_forward else None
        if run is None:
            return
        steps_s = self._step_time.decode_s(len(run.requests), run.context_tokens, run.steps)
        ends_s = output_times(self._ends_s, steps_s)
        # Strictly before the output that ends the run: at its instant others may have their say first.
        until_s = min(ends_s[run.steps], self.link.next_s()) if self.link.done_s else ends_s[run.steps]
        if ends_s[run.steps - 1] >= until_s:
            run.steps = int(np.searchsorted(ends_s[: run.steps], until_s))
            if not run.steps:
                return
        self._run, self._run_ends_s = run, ends_s[: run.steps + len(self._ends_s)]
        unpublished = engine.publish()
        if unpublished:
            self._outbox.kv_events(self._index, unpublished, self._ends_s[0])
        if engine.grows_quietly:
            self._note_next_taking(run)

    def _interrupt_run(self) -> None:
        """Something arrives: carry out what was processed before now, and meet the next output in person."""
        run = self._run
        if run is None:
            return
        passed = int(np.searchsorted(self._run_ends_s[: run.steps], self._env.now))
        self._commit_run(run, max(passed, run.settled))
        self._wake(self._ends_s[0], Phase.OUTPUT, self._output)

    def _commit_run(self, run: DecodeRun, steps: int) -> None:
        in_flight = len(self._ends_s)
        if self.engine.grows_quietly:
            self._settle(run, steps, self._env.now)
            self._agenda.note(self._index, inf)
        self._run = None
        if steps:
            commit(self.engine, run, steps)
            self._observer.kv(self._index, self.engine.news())
            self._ends_s = deque(self._run_ends_s[steps : steps + in_flight].tolist())
            self._observer.decoded(self._index, run, self._run_ends_s[:steps])

    def _note_next_taking(self, run: DecodeRun) -> None:
        pair = next_taking(self.engine, run)
        self._agenda.note(self._index, float(self._run_ends_s[pair]) if pair < run.steps else inf)

    def _catch_up(self, now_s: float, worker: float) -> None:
        """Take the blocks of the run that were planned before `worker` plans at this time."""
        run = self._run
        assert run is not None
        side: Literal["left", "right"] = "right" if self._index < worker else "left"
        self._settle(run, int(np.searchsorted(self._run_ends_s[: run.steps], now_s, side)), now_s)
        self._note_next_taking(run)

    def _settle(self, run: DecodeRun, pairs: int, now_s: float) -> None:
        """Take the blocks of the run's first pairs; what each evicts is published with the output after it.

        What everybody can have heard of by now goes out together.
        """
        engine, ends_s, delay_s = self.engine, self._run_ends_s, self._outbox.event_delay_s
        used = engine.cache.pool.used_blocks
        group: int | None = None
        for pair, blocks in takings(engine, run, pairs):
            used += blocks
            self._observer.grew(self._index, used, float(ends_s[pair]))
            if group is not None and ends_s[pair + 1] + delay_s > now_s:
                self._take(run, group)
            group = pair
        if group is not None:
            self._take(run, group)
        run.settled = pairs

    def _take(self, run: DecodeRun, pair: int) -> None:
        """Take the blocks of all pairs up to and with this one."""
        settle(self.engine, run, pair + 1)
        events = self.engine.news()
        if events:
            self._observer.kv(self._index, events)
            self._outbox.kv_events(self._index, self.engine.publish(), float(self._run_ends_s[pair + 1]))
