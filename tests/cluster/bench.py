"""A worker on a bench: a step takes 1 s, a block is copied in 1 s, and what happens is written down."""

from sim.cluster.delays import ConstantDelays
from sim.cluster.worker import Worker
from sim.events.clock import Clock, Phase
from sim.events.lazy_updates import LazyUpdates
from sim.kv.offload import LruTier
from sim.links.tier import Tier
from sim.links.tier_links import TierLinks
from sim.links.transfer import LinkSettings
from tests.clusters import Pace
from tests.engine.helpers import build

NO_WAY = ConstantDelays(dispatch_s=0.0, event_delay_s=0.25, answer_s=0.0)


class Link(TierLinks):
    """A link of one block a second that notes every copy: (direction, start, end)."""

    def __init__(self):
        way = LinkSettings(bandwidth_bytes_per_s=1, latency_s=0, per_piece_s=0)
        super().__init__([Tier("host", LruTier, 0, way, way, None, "pcie", 0)], 1)
        self.copies = []

    def submit(self, job, start_s):
        done_s = super().submit(job, start_s)
        self.copies.append(("to GPU" if job.load else "to host", done_s - len(job.blocks), done_s))
        return done_s


class Bench:
    """One worker, the requests that arrive there, and a log of what comes of them."""

    def __init__(self, blocks, block_tokens=16, *, law=None, fast_forward=True, delays=NO_WAY, **engine):
        self.tokens = []
        """(request, when), in the order of generation."""
        self.plans = []
        """(when, {request: tokens}) of steps that were planned one by one."""
        self.ends = []
        self.cpu_events = []
        self.levels_log = []
        self.grown = []
        """(used blocks, when) of what runs took."""
        self.heard = []
        """(when it is published, event) of the GPU's cache."""
        self.event_delay_s = 0.25
        self.env = Clock()
        self.lazy_updates = LazyUpdates()
        self.engine = build(blocks, block_tokens, **engine).engine
        self.link = Link()
        self.worker = Worker(
            self.env,
            0,
            self.engine,
            step_time=law or Pace(1),
            links=self.link,
            observer=self,
            outbox=self,
            lazy_updates=self.lazy_updates,
            fast_forward=fast_forward,
            delays=delays,
        )

    def arrive(self, at_s, request):
        self.env.at(at_s, Phase.ARRIVAL, request.request_id, lambda: self.worker.add(request))
        return request

    def run(self):
        self.env.run()
        return self.tokens

    def keep(self, blocks):
        """Put blocks of a prompt into the CPU tier."""
        keys = [(block, 0) for block in blocks]
        self.engine.offload.tier.store(keys)
        self.engine.offload.tier.stored(keys)

    def planned(self, worker, plan, events, now_s):
        if plan.scheduled:
            self.plans.append((now_s, {request.request_id: tokens for request, tokens in plan.scheduled}))

    def processed(self, worker, output, events, now_s):
        self.tokens += [(request.request_id, now_s) for request, n in output.tokens for _ in range(n)]

    def decoded(self, worker, run, ends_s):
        self.tokens += [(request.request_id, end_s) for end_s in ends_s for request in run.requests]

    def added(self, worker, request, now_s):
        """The levels say so too."""

    def levels(self, worker, engine, now_s):
        self.levels_log.append((now_s, len(engine.scheduler.running), engine.waiting))

    def output(self, worker, output):
        self.ends += [(request.request_id, self.env.now) for request in output.finished]

    def kv_events(self, worker, events, output_s):
        self.cpu_events += [(output_s, event.stored) for event in events if event.tier == "host"]
        self.heard += [(output_s, event) for event in events if event.tier == "device"]

    def kv(self, worker, events):
        """Only the ledger cares."""

    def allocated(self, worker, used_blocks, now_s):
        self.grown.append((used_blocks, now_s))

    def given_up(self, worker, request, reason):
        self.ends.append((f"{request.request_id} {reason}", self.env.now))
