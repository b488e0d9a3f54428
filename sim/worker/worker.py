"""A worker: an engine with a clock and two copy streams.

The GPU computes steps strictly one after another. vLLM's loop plans the next step as soon as an output has been
processed (asynchronous scheduling: while another step is computed). Copies between GPU and host take the time of
the host link, one stream a direction: a load starts with its step, a store when its step has been computed; they
are reported with the first output processed after their end. A step that must not run before certain copies are
done (a flush) waits for them. Steps without tokens cost nothing: they stand for the engine polling its copies.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
import simpy
from numpy.typing import NDArray

from sim.clock import Phase, at
from sim.kv.events import KvEvent
from sim.worker.active import ActiveRequest
from sim.worker.connector import TransferJob
from sim.worker.decode_run import DecodeRun, commit, decode_run
from sim.worker.engine import Engine, StepOutput
from sim.worker.scheduler import StepPlan
from sim.worker.timing import StepTime
from sim.worker.transfer import LinkSettings, Stream


class Observer(Protocol):
    """Who is told what a worker does; `worker` is its index, times are seconds."""

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """A step was planned; `events` are what that did to the caches."""

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """An output was processed, with what that did to the caches."""

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[np.float64]) -> None:
        """Every request of a run received one token at each of these times."""

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """Queues and caches stand as the engine says from now on."""


class Outbox(Protocol):
    """Where a worker sends what others must know: the way there takes time, the sending does not."""

    def output(self, worker: int, output: StepOutput) -> None:
        """Tokens, ends and KV events of one step."""

    def outgrown(self, worker: int, request: ActiveRequest) -> None:
        """A request was given up: what it has become does not fit into the pool."""


class HostLink:
    """The copies of one worker between GPU and host memory, each direction a stream of its own."""

    def __init__(self, link: LinkSettings, block_bytes: int, pieces_per_block: int) -> None:
        self.to_gpu = Stream(link)
        self.to_host = Stream(link)
        self.done_s: dict[int, float] = {}
        """When each job not yet reported is done."""
        self._block_bytes = block_bytes
        self._pieces_per_block = pieces_per_block

    def submit(self, job: TransferJob, now_s: float) -> float:
        """Queue a copy that may start now; return when it is done."""
        stream = self.to_gpu if job.load else self.to_host
        blocks = len(job.blocks)
        done_s = stream.submit(blocks * self._block_bytes, blocks * self._pieces_per_block, now_s)
        self.done_s[job.job_id] = done_s
        return done_s

    def next_s(self) -> float:
        """When the next job is done; infinity if none is under way."""
        return min(self.done_s.values(), default=float("inf"))

    def take_done(self, now_s: float) -> list[int]:
        """Report the jobs done by now, in order of their ends."""
        done = sorted((end_s, job_id) for job_id, end_s in self.done_s.items() if end_s <= now_s)
        for _, job_id in done:
            del self.done_s[job_id]
        return [job_id for _, job_id in done]


class Worker:
    """The process of one engine. `add` hands it a request; observer and outbox hear what becomes of it."""

    def __init__(
        self,
        env: simpy.Environment,
        index: int,
        engine: Engine,
        step_time: StepTime,
        link: HostLink | None,
        observer: Observer,
        outbox: Outbox,
        *,
        fast_forward: bool = True,
        run_limit: Callable[[list[ActiveRequest]], int] | None = None,
    ) -> None:
        self.engine = engine
        self.link = link or HostLink(LinkSettings(), 0, 0)
        self.index = index
        self._env = env
        self._step_time = step_time
        self._observer = observer
        self._outbox = outbox
        self._fast_forward = fast_forward
        self._run_limit = run_limit
        self._ends_s: deque[float] = deque()
        """When each planned step has been computed."""
        self._run: DecodeRun | None = None
        self._run_ends_s: NDArray[np.float64] = np.empty(0)
        self._alarm = 0
        self._polling = True
        """Nothing is computed: the engine only waits for copies, or for requests."""
        self._stuck_state: tuple[int, int] | None = None

    def add(self, request: ActiveRequest) -> None:
        """Queue a request now."""
        self._interrupt_run()
        self.engine.add(request)
        if self._polling:
            self._wake(self._env.now, Phase.SCHEDULE, self._poll)

    # -- the loop -------------------------------------------------------------------------------------------

    def _wake(self, time_s: float, phase: Phase, act: Callable[[], None]) -> None:
        """Act at a time, unless something else is arranged before."""
        self._alarm += 1
        alarm = self._alarm
        event = at(self._env, time_s - self._env.now, phase, self.index)
        event.callbacks.append(lambda _: act() if alarm == self._alarm else None)

    def _poll(self) -> None:
        """Close the empty steps in flight, then plan anew."""
        self._polling = False
        while self.engine.steps:
            self._process_oldest()
        self._plan()

    def _plan(self) -> None:
        """Plan steps until the pipeline is full, then wait for the oldest one's output."""
        engine, now_s = self.engine, self._env.now
        self._give_up_outgrown()
        while engine.has_work and len(engine.steps) < engine.max_steps:
            self._plan_step()
        self._observer.levels(self.index, engine, now_s)
        if any(plan.tokens for plan in engine.steps):
            self._start_run()
            wake_s = self._ends_s[0] if self._run is None else float(self._run_ends_s[self._run.steps])
            self._wake(wake_s, Phase.OUTPUT, self._output)
        else:
            self._wait_for_copies()

    def _wait_for_copies(self) -> None:
        """Sleep until a copy is done or a request arrives; first see what the last output has changed."""
        self._polling = True
        engine, next_s = self.engine, self.link.next_s()
        if not engine.steps:
            return
        state = (engine.cache.pool.changes, engine.waiting)
        if next_s < float("inf"):
            self._wake(max(next_s, self._env.now), Phase.SCHEDULE, self._poll)
        elif state != self._stuck_state or not engine.waiting:
            self._stuck_state = state
            self._wake(self._env.now, Phase.SCHEDULE, self._poll)

    def _output(self) -> None:
        """The oldest step has been computed."""
        self._finish_run()
        self._process_oldest()
        if self._env.peek() > self._env.now:
            self._plan()
        else:
            self._wake(self._env.now, Phase.SCHEDULE, self._plan)

    def _plan_step(self) -> None:
        engine, now_s = self.engine, self._env.now
        plan = engine.schedule()
        self._observer.planned(self.index, plan, engine.news(), now_s)
        start_s = max(now_s, self._ends_s[-1]) if self._ends_s else now_s
        for job in plan.loads:
            self.link.submit(job, start_s)
        start_s = max(start_s, self._flushed_s(plan, start_s))
        end_s = start_s + self._step_s(plan)
        for job in plan.stores:
            if job.job_id not in plan.flushes:
                self.link.submit(job, end_s)
        self._ends_s.append(end_s)

    def _flushed_s(self, plan: StepPlan, start_s: float) -> float:
        """When the copies are done that this step must wait for."""
        planned = {job.job_id: job for job in plan.stores} if plan.flushes else {}
        flushed_s = start_s
        for job_id in plan.flushes:
            if job_id in planned:
                self.link.submit(planned[job_id], start_s)
            flushed_s = max(flushed_s, self.link.done_s.get(job_id, start_s))
        return flushed_s

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

    def _process_oldest(self) -> None:
        engine, now_s = self.engine, self._env.now
        self._ends_s.popleft()
        output = engine.complete([(job_id, None) for job_id in self.link.take_done(now_s)])
        self._observer.processed(self.index, output, engine.news(), now_s)
        self._observer.levels(self.index, engine, now_s)
        self._outbox.output(self.index, output)

    def _give_up_outgrown(self) -> None:
        for request in self.engine.drop_outgrown():
            self._outbox.outgrown(self.index, request)

    # -- fast-forward ---------------------------------------------------------------------------------------

    def _start_run(self) -> None:
        """Look for a run of decode steps and its times; nothing of it is visible before it is committed."""
        run = decode_run(self.engine) if self._fast_forward else None
        if run is None:
            return
        if self._run_limit is not None:
            run.steps = min(run.steps, self._run_limit(run.requests))
        in_flight = len(self._ends_s)
        steps_s = self._step_time.decode_s(len(run.requests), run.context_tokens, run.steps)
        later_s = np.cumsum(np.concatenate(([self._ends_s[-1]], steps_s)))[1:]
        ends_s = np.concatenate((self._ends_s, later_s))
        run.steps = int(np.searchsorted(ends_s[: run.steps], self.link.next_s()))
        if run.steps:
            self._run, self._run_ends_s = run, ends_s[: run.steps + in_flight]

    def _finish_run(self) -> None:
        if self._run is not None:
            self._commit_run(self._run, self._run.steps)

    def _interrupt_run(self) -> None:
        """Something arrives: carry out what was processed before now, and meet the next output in person."""
        if self._run is None:
            return
        passed = int(np.searchsorted(self._run_ends_s[: self._run.steps], self._env.now))
        self._commit_run(self._run, passed)
        self._wake(self._ends_s[0], Phase.OUTPUT, self._output)

    def _commit_run(self, run: DecodeRun, steps: int) -> None:
        in_flight = len(self._ends_s)
        self._run = None
        if steps:
            commit(run, steps)
            self._ends_s = deque(self._run_ends_s[steps : steps + in_flight].tolist())
            self._observer.decoded(self.index, run, self._run_ends_s[:steps])

    def sync(self) -> None:
        """Bring the engine up to now, for those who read its state."""
        self._interrupt_run()
