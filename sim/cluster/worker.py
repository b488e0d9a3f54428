"""A worker: an engine with a clock and a GPU.

vLLM's loop plans the next step as soon as an output has been processed (asynchronous scheduling: while one
is computed). Copies are reported with the first output processed after their end. Steps without tokens cost
nothing: they stand for the engine polling its copies.
"""

from collections.abc import Callable, Collection, Sequence
from math import inf

from sim.cluster.api_server import ApiServer
from sim.cluster.delays import Delays
from sim.cluster.engine_loop import EngineLoop
from sim.cluster.fast_forward import FastForward
from sim.cluster.gpu import Gpu
from sim.cluster.observer import Observer
from sim.cluster.outbox import Outbox
from sim.engine.active import ActiveRequest, Status
from sim.engine.engine import Engine
from sim.engine.lookup import EngineDiedError
from sim.engine.plan import StepPlan
from sim.events.clock import Clock, Phase
from sim.events.lazy_updates import LazyUpdates
from sim.hardware.step_time import StepTime
from sim.links.tier_links import TierLinks

ENGINE_DIED = "engine_died"
"""Why requests of a worker are given up whose engine met a fault of vLLM 0.28.0."""


class Worker:
    """The process of one engine. `add` hands it a request; observer and outbox hear what becomes of it."""

    def __init__(
        self,
        env: Clock,
        index: int,
        engine: Engine,
        *,
        step_time: StepTime,
        links: TierLinks,
        observer: Observer,
        outbox: Outbox,
        lazy_updates: LazyUpdates,
        delays: Delays,
        fast_forward: bool = True,
        loop: EngineLoop | None = None,
        server: ApiServer | None = None,
    ) -> None:
        """Join the parts. Where the delays see every step, nothing is fast-forwarded.

        `server` admits what is added; None: everything is.
        """
        self._server = server
        if server is not None:
            server.ranks.append(self)
        self.engine = engine
        self._lazy_updates = lazy_updates
        self._env = env
        self._index = index
        self.links = links
        self._step_time = step_time
        self._gpu = Gpu(step_time, links, delays, loop)
        self._observer = observer
        self._outbox = outbox
        self._alarm = 0
        self._gone: str | None = None
        """Why nothing can be served here; None: it can."""
        self._fast_forwards = fast_forward and not delays.sees_steps
        self._polling = True
        """Nothing is computed: the engine waits for copies, or for requests."""
        self._polled = (0, 0, 0, 0)
        """What stood still if it is the same after the next poll."""
        self._pulled: list[int] = []
        self._read: list[int] = []
        """What other workers told since the last output, for the next one."""
        self._fast_forward: FastForward | None = None
        self._enable_fast_forward()

    def _enable_fast_forward(self) -> None:
        """Take many steps of the engine at once, if that is wanted."""
        if self._fast_forwards:
            self._fast_forward = FastForward(
                self._index,
                self.engine,
                step_time=self._step_time,
                observer=self._observer,
                outbox=self._outbox,
                lazy_updates=self._lazy_updates,
            )

    def add(self, request: ActiveRequest) -> None:
        """Queue a request now."""
        if self._gone is not None:
            request.status = Status.FINISHED
            self._outbox.given_up(self._index, request, self._gone)
            return
        self._end_fast_forward()
        refusal = self._server.refusal() if self._server is not None else None
        if refusal is not None:
            request.status = Status.FINISHED
            self._outbox.given_up(self._index, request, refusal)
            return
        self.engine.add(request)
        now_s = self._env.now_s
        self._observer.added(self._index, request, now_s)
        self._observer.levels(self._index, self.engine, now_s)
        if self._polling:
            self._wake(now_s, Phase.SCHEDULE, self._poll)

    def unfinished(self) -> Collection[ActiveRequest]:
        """Return what was added and has not ended, as it stands now."""
        self._end_fast_forward()
        return self.engine.requests

    def last_output_s(self, before_s: float) -> float:
        """Return when running requests had their last token before a time, of those not told to anybody yet.

        Minus infinity if there are none.
        """
        return self._fast_forward.last_output_s(before_s) if self._fast_forward is not None else -inf

    def report(self, *, pulled: Sequence[int] = (), read: Sequence[int] = ()) -> None:
        """Hear of requests whose pull has ended here, and of requests held here whose blocks were read."""
        if self._gone is not None:
            return
        self._end_fast_forward()
        self._pulled += pulled
        self._read += read
        self.engine.stir()
        if self._polling:
            self._wake(self._env.now_s, Phase.SCHEDULE, self._poll)

    def abort(self, request: ActiveRequest) -> None:
        """Nobody waits for a request any more that was added here; nothing if it has ended."""
        if self._gone is not None or self._has_ended(request):
            return
        now_s = self._env.now_s
        if self._end_fast_forward() and self._gpu.ends_s[0] == now_s:
            # Outputs of an instant come before what arrives then, and this one has not been met in person.
            self._process_oldest(now_s)
            self._wake(now_s, Phase.SCHEDULE, self._plan)
            if self._has_ended(request):
                return
        self.engine.abort(request)
        self._observer.aborted(self._index, request, now_s)
        self._observer.levels(self._index, self.engine, now_s)
        if self._polling:
            self._wake(now_s, Phase.SCHEDULE, self._poll)

    @staticmethod
    def _has_ended(request: ActiveRequest) -> bool:
        return request.status is Status.FINISHED

    def interrupt(self) -> None:
        """Something changes from now on for steps that are not planned yet: fast-forward none across it."""
        self._end_fast_forward()

    def die(self, successor: Engine, reason: str) -> list[ActiveRequest]:
        """The process is killed, steps and copies under way with it; return the requests that it had.

        Nothing is served until `come_back`, which lets the `successor` begin: what is added meanwhile is
        given up for this reason.
        """
        self._end_fast_forward()
        self._alarm += 1
        lost = self.engine.requests if self._gone is None else []
        self._observer.lost(self._index, lost, self._env.now_s)
        for request in lost:
            request.status = Status.FINISHED
        self._gone = reason
        self.engine = successor
        self._gpu.ends_s.clear()
        self._pulled, self._read = [], []
        self._polling, self._polled = True, (0, 0, 0, 0)
        self.links.cut(self._env.now_s)
        self._enable_fast_forward()
        self._observer.levels(self._index, successor, self._env.now_s)
        return lost

    def come_back(self) -> None:
        """Serve again, after `die`, with nothing cached."""
        self._gone = None

    def _end_fast_forward(self) -> bool:
        """Something arrives: a run ends now, and the next output is met in person; return whether one ran."""
        ends_s = self._fast_forward.interrupt(self._env.now_s) if self._fast_forward is not None else None
        if ends_s is not None:
            self._gpu.ends_s = ends_s
            self._wake(ends_s[0], Phase.OUTPUT, self._output)
        return ends_s is not None

    # -- the loop -------------------------------------------------------------------------------------------

    def _wake(self, time_s: float, phase: Phase, act: Callable[[float], None]) -> None:
        """Act at a time, which `act` is told, unless something else is arranged before."""
        self._alarm += 1
        alarm = self._alarm

        def wake() -> None:
            if alarm == self._alarm:
                act(time_s)

        self._env.at(time_s, phase, self._index, wake)

    def _plan(self, now_s: float) -> None:
        """Plan steps until the pipeline is full, then wait for the oldest one's output."""
        engine = self.engine
        for request in engine.drop_outgrown() if engine.preempted else ():
            self._outbox.given_up(self._index, request, "outgrew_pool")
        try:
            while len(engine.steps) < engine.max_steps and engine.needs_step:
                plan = self._plan_step(now_s)
                if engine.offload is None and not (plan.scheduled or plan.preempted):
                    break  # nothing is copied: the next one could do no more than this one
        except EngineDiedError:
            self._engine_died()
            return
        self._observer.levels(self._index, engine, now_s)
        if self._busy(now_s):
            output_s = None
            if self._fast_forward is not None:
                copied_s = self.links.next_s() if self.links.done_s else inf
                output_s = self._fast_forward.start(self._gpu.ends_s, copied_s)
            self._wake(self._gpu.ends_s[0] if output_s is None else output_s, Phase.OUTPUT, self._output)
        else:
            self._wait_for_copies(now_s)

    def _engine_died(self) -> None:
        """Give up every request; the steps in flight come to nothing."""
        self._gone = ENGINE_DIED
        for request in self.engine.requests:
            self._outbox.given_up(self._index, request, ENGINE_DIED)
        self._outbox.died(self._index)

    def _busy(self, now_s: float) -> bool:
        """Whether a step in flight computes something, or waits for the copies that it has to flush."""
        for plan in self.engine.steps:
            if plan.scheduled:
                return True
        return bool(self._gpu.ends_s) and self._gpu.ends_s[-1] > now_s

    def _output(self, now_s: float) -> None:
        """The oldest step has been computed."""
        if self._fast_forward is not None:
            self._gpu.ends_s = self._fast_forward.finish() or self._gpu.ends_s
        self._process_oldest(now_s)
        if self._env.comes_next(Phase.SCHEDULE, self._index):
            self._plan(now_s)
        else:
            self._wake(now_s, Phase.SCHEDULE, self._plan)

    def _wait_for_copies(self, now_s: float) -> None:
        """Sleep until a copy is done or a request arrives; but poll again at once after any change."""
        self._polling = True
        engine = self.engine
        if not engine.steps:
            return
        told = len(self._pulled) + len(self._read)
        state = (engine.cache.pool.changes, engine.waiting, self.links.changes, told)
        if state != self._polled:
            self._polled = state
            self._wake(now_s, Phase.SCHEDULE, self._poll)
        elif self.links.next_s() < inf:
            self._wake(self.links.next_s(), Phase.SCHEDULE, self._poll)

    def _poll(self, now_s: float) -> None:
        """Close the empty steps in flight, then plan anew."""
        self._polling = False
        if not self.engine.steps:
            self.engine.hear(*self._told())
        while self.engine.steps:
            self._process_oldest(now_s)
        self._plan(now_s)

    def _told(self) -> tuple[list[int], list[int]]:
        """What other workers told since this was last asked: requests pulled, requests read."""
        told = self._pulled, self._read
        if told[0] or told[1]:
            self._pulled, self._read = [], []
        return told

    def _process_oldest(self, now_s: float) -> None:
        engine = self.engine
        self._gpu.ends_s.popleft()
        done = [(job_id, None) for job_id in self.links.take_done(now_s)] if self.links.done_s else []
        output = engine.complete(done, *self._told())
        self._observer.processed(self._index, output, engine.drain_events(), now_s)
        if output.events:
            self._outbox.kv_events(self._index, output.events, now_s)
        if output.tokens:
            self._outbox.output(self._index, output)

    def _plan_step(self, now_s: float) -> StepPlan:
        plan = self.engine.schedule()
        if plan.admitted:
            self._lazy_updates.settle(now_s, self._index)  # the ledger looks at what is cached where
        self._observer.planned(self._index, plan, self.engine.drain_events(), now_s)
        if self.engine.nixl is not None:
            self._outbox.pulls(self._index, plan)
        self._gpu.submit(plan, now_s)
        return plan
