"""Builds the parts of a scenario, joins them, and lets simulated time run. Holds no rule of its own."""

from collections.abc import Callable

import simpy

from sim.capacity import Capacity
from sim.coefficients import Coefficients
from sim.frontend import Frontend
from sim.kv.hybrid import KvCache
from sim.kv.offload import POLICIES
from sim.kv.prefix import PrefixTable, SeenPrefixes
from sim.recorder import Recorder
from sim.router import Policy, Router
from sim.scenario import Scenario
from sim.worker.connector import OffloadingConnector
from sim.worker.engine import Engine
from sim.worker.host_link import HostLink
from sim.worker.scheduler import Limits
from sim.worker.timing import StepLaw, StepTime
from sim.worker.transfer import LinkSettings
from sim.worker.worker import Worker
from sim.workload.client import make_client
from sim.workload.request import Request, Trace

Progress = Callable[[float, int, int], None]
"""Called with simulated seconds, requests done, and requests in all."""


class Cluster:
    """One aggregated cluster and the client in front of it, ready to `run` once."""

    def __init__(
        self,
        scenario: Scenario,
        trace: Trace,
        capacity: Capacity,
        times: Coefficients,
        *,
        policy: Policy | None = None,
        step_time: StepTime | None = None,
    ) -> None:
        self.env = simpy.Environment()
        self.capacity = capacity
        self.scenario = scenario
        self._trace = trace
        self._attention_group = scenario.model.state_groups
        self.recorder = Recorder(
            scenario.workers.count,
            self._attention_group,
            SeenPrefixes(trace.chunk_tokens, capacity.block_tokens),
            scenario.output.tables,
            scenario.output.worker_interval_s,
        )
        self.router = Router(scenario.router, capacity.block_tokens, scenario.workers.count, policy=policy)
        self.frontend = self._frontend(times)
        law = step_time or StepLaw(times.step)
        self.workers = [self._worker(index, law) for index in range(scenario.workers.count)]
        self.frontend.workers = self.workers
        self.client = make_client(self.env, trace, scenario.replay, self.frontend.submit)
        self.recorder.due_s = self.client.due_s

    def _frontend(self, times: Coefficients) -> Frontend:
        scenario, offload = self.scenario, self.scenario.offload
        return Frontend(
            self.env,
            self.router,
            PrefixTable(self._trace.chunk_tokens, self.capacity.block_tokens),
            self.recorder,
            coefficients=times.frontend,
            delays=scenario.frontend,
            seed=scenario.seed,
            max_model_len=scenario.max_model_len,
            attention_group=self._attention_group,
            host_events=offload is not None and offload.kv_events == "self-describing",
            track_outputs=scenario.router.track_output_blocks,
        )

    def _worker(self, index: int, law: StepTime) -> Worker:
        scenario, capacity, offload = self.scenario, self.capacity, self.scenario.offload
        cache = KvCache(capacity.num_blocks, capacity.block_tokens, self._attention_group)
        connector = None
        if offload is not None:
            tier = POLICIES[offload.eviction_policy](capacity.host[0].blocks)
            connector = OffloadingConnector(cache, tier, prompt_only=offload.offload_prompt_only)
        link = offload.link if offload is not None else LinkSettings()
        return Worker(
            self.env,
            index,
            Engine(cache, self._limits(), connector),
            step_time=law,
            link=HostLink(link, capacity.block_bytes, scenario.model.full_attention_layers),
            observer=self.recorder,
            outbox=self.frontend,
            fast_forward=scenario.engine.fast_forward,
        )

    def _limits(self) -> Limits:
        engine = self.scenario.engine
        return Limits(
            max_batched_tokens=engine.max_num_batched_tokens,
            max_seqs=engine.max_num_seqs,
            max_model_len=self.scenario.max_model_len,
            long_prefill_threshold_tokens=engine.long_prefill_token_threshold,
            watermark=engine.watermark,
            async_scheduling=engine.async_scheduling,
        )

    def run(self, on_progress: Progress | None = None) -> None:
        """Replay the whole trace; what has not ended when nothing can happen any more is unfinished."""
        requests = self._trace.requests

        def ended(request: Request) -> None:
            self.client.ended(request)
            if on_progress is not None:
                on_progress(self.env.now, self.recorder.ended, len(requests))

        self.frontend.ended = ended
        self.client.start()
        self.env.run()
        self.recorder.close(self.env.now, requests)
