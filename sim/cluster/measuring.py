"""What counts of a run: it begins with the measured part of a replay, and its books are closed at the end."""

from collections.abc import Iterable, Mapping, Sequence

from sim.cluster.kv_transfer import Pulls
from sim.cluster.link_rows import link_rows, rows_since
from sim.cluster.recorder import Recorder
from sim.cluster.replay import Replay
from sim.cluster.worker import Worker
from sim.events.clock import Clock
from sim.links.tier import Tier
from sim.results.tags import mark_tags
from sim.results.transfers import LinkRow, PullCounts


class Measuring:
    """The measured part of one run, whose `workers`, by index, may be built later."""

    def __init__(
        self,
        clock: Clock,
        replay: Replay,
        recorder: Recorder,
        workers: Sequence[Worker],
        *,
        tiers: Sequence[Tier],
        pulls: Pulls | None,
    ) -> None:
        self._clock = clock
        self._replay = replay
        self._recorder = recorder
        self._workers = workers
        self._tiers = tiers
        self._pulls = pulls
        self._links_before: Sequence[LinkRow] | None = None
        """What had gone over links when the measured part began, after a warm start."""

    @property
    def is_over(self) -> bool:
        """Whether every request has ended."""
        return self._recorder.ended == self._replay.total

    def begin(self) -> None:
        """What is counted begins now; what warmed the caches is forgotten."""
        now_s, replay, recorder = self._clock.now_s, self._replay, self._recorder
        if replay.warm:
            self._links_before = [*self._links(now_s)]
            recorder.pulls = PullCounts()
            for worker in self._workers:
                worker.engine.count_anew()
        if replay.looks_only:
            recorder.look_only(*replay.levels_window(now_s))

    def end(self, waits: Mapping[int, Mapping[int, str]]) -> None:
        """The run is over; `waits` says by worker what each request that is left there waits for."""
        replay, recorder = self._replay, self._recorder
        recorder.close(self._clock.now_s, () if self.is_over else replay.unsent, waits)
        requests = recorder.rows.tables["requests"]
        if (tags := replay.tags(requests.values("index").values.tolist())) is not None:
            mark_tags(requests, tags)
        lookups = (worker.engine.scheduler.lookup for worker in self._workers)
        recorder.pulls.nothing_left = sum(lookup.nothing_left for lookup in lookups)
        recorder.links(self._link_rows())

    def _link_rows(self) -> Iterable[LinkRow]:
        """Return what went over each link since the measured part began."""
        end_s = self._recorder.last_end_s
        rows = self._links(end_s)
        if self._links_before is None:
            return rows
        return rows_since(rows, self._links_before, self._replay.left_out.begun_s, end_s)

    def _links(self, end_s: float) -> Iterable[LinkRow]:
        return link_rows(self._workers, self._tiers, self._pulls, self._clock.now_s, end_s)
