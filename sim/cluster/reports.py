"""What workers say of themselves: queues and KV blocks in use, as old as their reports are.

An engine counts at the end of every step (vLLM 0.28.0 makes its `SchedulerStats` when a step's output is
processed), and nobody hears of what has happened since. Dynamo's workers publish that at once
(`DynamoStatLoggerPublisher.record`, 1.5.0); others' routers scrape it: the end-point picker of the gateway
API's inference extension, which llm-d uses, every 50 ms (`--refresh-metrics-interval`), vLLM's production
stack every 30 s (`--engine-stats-interval`).
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from math import floor, inf

from numpy import float64
from numpy.typing import NDArray

from sim.cluster.observer import Observer
from sim.cluster.worker import Worker
from sim.engine.active import ActiveRequest
from sim.engine.decode_run import DecodeRun
from sim.engine.engine import Engine
from sim.engine.plan import StepOutput, StepPlan
from sim.events.clock import Clock
from sim.events.lazy_updates import LazyUpdates
from sim.kv.events import KvEvent
from sim.router import RouterConfig
from sim.router.policies import POLICIES
from sim.router.report import WorkerReport

_Timed = tuple[float, WorkerReport]


class _Sent:
    """What one worker has reported, as far back as anybody may look, and how it stands."""

    __slots__ = ("levels", "reports")

    def __init__(self, at_first: WorkerReport) -> None:
        self.reports: deque[_Timed] = deque([(-inf, at_first)])
        """By the time of the output that each came with; without what says the same as the one before."""
        self.levels: list[_Timed] = [(-inf, at_first)]
        """How it stood from each time on, since the last report: what the reports of a run will say."""

    def add(self, time_s: float, report: WorkerReport, heard_until_s: float) -> None:
        """A report was sent; none is asked for that was replaced before `heard_until_s`."""
        reports = self.reports
        if reports[-1][1] != report:
            reports.append((time_s, report))
        while len(reports) > 1 and reports[1][0] < heard_until_s:
            reports.popleft()


class Reports:
    """The reports of all workers: hears of what they do in place of an observer, to which it passes all on.

    Args:
        clock: of the simulation.
        workers: all of the cluster, by index; complete before the first request.
        lazy_updates: of these workers.
        interval_s: from one scraping of a worker to the next; 0: each step's report is sent at once.
        delay_s: how long a report is on its way.
        observer: to whom all is passed on.
    """

    def __init__(
        self,
        clock: Clock,
        workers: Sequence[Worker],
        lazy_updates: LazyUpdates,
        *,
        interval_s: float,
        delay_s: float,
        observer: Observer,
    ) -> None:
        self._clock = clock
        self._workers = workers
        self._lazy_updates = lazy_updates
        self._interval_s = interval_s
        self._delay_s = delay_s
        self._observer = observer
        self._sent: dict[int, _Sent] = {}

    def of_ranks(self, members: range) -> Callable[[int], WorkerReport]:
        """Return what gives the newest report of a rank, the ranks being these workers."""
        return lambda rank: self.newest(members[rank])

    def times_of_ranks(self, members: range) -> Callable[[int], float]:
        """Return what gives the time of a rank's newest report; of scraped ones, that of the scraping."""

        def said_s(rank: int) -> float:
            if self._interval_s:
                return self._heard_until_s(self._clock.now_s)
            return self._newest(members[rank])[0]

        return said_s

    def newest(self, worker: int) -> WorkerReport:
        """Return a worker's newest report that has come by now.

        What arrives at this very instant has not, so that it makes no difference what comes first in it.
        """
        return self._newest(worker)[1]

    def _newest(self, worker: int) -> _Timed:
        now_s = self._clock.now_s
        self._lazy_updates.settle(now_s, -1)
        sent, until_s = self._of(worker), self._heard_until_s(now_s)
        skipped_s = self._workers[worker].last_output_s(until_s)
        found = sent.reports if skipped_s == -inf else sent.levels
        before_s = until_s if skipped_s == -inf else skipped_s
        return next(timed for timed in reversed(found) if timed[0] < before_s or timed[0] == -inf)

    def _heard_until_s(self, now_s: float) -> float:
        """Return the time before which reports were sent that have come by now."""
        sent_s = now_s - self._delay_s
        return sent_s if not self._interval_s else floor(sent_s / self._interval_s) * self._interval_s

    def _of(self, worker: int) -> _Sent:
        sent = self._sent.get(worker)
        if sent is None:
            total = self._workers[worker].engine.cache.pool.num_blocks
            sent = self._sent[worker] = _Sent(WorkerReport(0, 0, 0, total))
        return sent

    # What an observer hears

    def processed(self, worker: int, output: StepOutput, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`: a report is sent."""
        self._observer.processed(worker, output, events, now_s)
        self._send(worker, report_of(self._workers[worker].engine), now_s)

    def _send(self, worker: int, report: WorkerReport, now_s: float) -> None:
        sent = self._of(worker)
        sent.add(now_s, report, self._heard_until_s(now_s))
        sent.levels = [(now_s, report)]

    def levels(self, worker: int, engine: Engine, now_s: float) -> None:
        """See `Observer`. An engine with nothing to do got there by a step, if by one without tokens."""
        self._observer.levels(worker, engine, now_s)
        report = report_of(engine)
        if report.waiting_requests or report.running_requests:
            self._of(worker).levels.append((now_s, report))
        else:
            self._send(worker, report, now_s)

    def allocated(self, worker: int, used_blocks: int, now_s: float) -> None:
        """See `RunObserver`."""
        self._observer.allocated(worker, used_blocks, now_s)
        levels = self._of(worker).levels
        last = levels[-1][1]
        levels.append((now_s, last._replace(used_kv_blocks=_told(used_blocks, last.total_kv_blocks))))

    def decoded(self, worker: int, run: DecodeRun, ends_s: NDArray[float64]) -> None:
        """See `RunObserver`: a report was sent at each of these times, of how it stood just before."""
        self._observer.decoded(worker, run, ends_s)
        sent = self._of(worker)
        until_s = self._heard_until_s(self._clock.now_s)
        places = [0, *(bisect_right(ends_s, time_s) for time_s, _ in sent.levels[1:]), len(ends_s)]
        for (_, report), place, behind in zip(sent.levels, places, places[1:], strict=False):
            if place < behind:
                sent.add(ends_s.item(place), report, until_s)
        del sent.levels[:-1]

    def lost(self, worker: int, requests: Sequence[ActiveRequest], now_s: float) -> None:
        """See `Observer`: whoever comes in its place has not said anything yet."""
        self._observer.lost(worker, requests, now_s)
        self._sent.pop(worker, None)

    def planned(self, worker: int, plan: StepPlan, events: list[KvEvent], now_s: float) -> None:
        """See `Observer`."""
        self._observer.planned(worker, plan, events, now_s)

    def added(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`."""
        self._observer.added(worker, request, now_s)

    def aborted(self, worker: int, request: ActiveRequest, now_s: float) -> None:
        """See `Observer`."""
        self._observer.aborted(worker, request, now_s)

    def kv(self, worker: int, events: list[KvEvent]) -> None:
        """See `RunObserver`."""
        self._observer.kv(worker, events)


def are_read(config: RouterConfig) -> bool:
    """Whether a router that is told so reads what workers say of themselves."""
    named = (config.policy, config.prefill_policy, config.decode_policy)
    reads = any(POLICIES[name].reads_reports for name in named if name is not None)
    return reads or config.active_decode_blocks_threshold is not None


def report_of(engine: Engine) -> WorkerReport:
    """Return what an engine counts now."""
    pool = engine.cache.pool
    return WorkerReport(
        engine.waiting,
        len(engine.scheduler.running),
        _told(pool.used_blocks, pool.num_blocks),
        pool.num_blocks,
    )


def _told(used_blocks: int, num_blocks: int) -> int:
    """Return vLLM's share of blocks in use, which leaves the null block out, times all blocks, whole ones."""
    return used_blocks * num_blocks // (num_blocks - 1)
