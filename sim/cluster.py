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
from sim.worker.active import ActiveRequest
from sim.worker.connector import OffloadingConnector
from sim.worker.engine import Engine
from sim.worker.scheduler import Limits
from sim.worker.timing import StepLaw, StepTime
from sim.worker.worker import HostLink, Worker
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
        self._scenario = scenario
        self._requests = len(trace.requests)
        workers, block_tokens = scenario.workers.count, capacity.block_tokens
        attention_group = scenario.model.state_groups
        self.recorder = Recorder(
            workers,
            attention_group,
            SeenPrefixes(trace.chunk_tokens, block_tokens),
            scenario.output.tables,
            scenario.output.worker_interval_s,
        )
        self.frontend = Frontend(
            self.env,
            Router(scenario.router, block_tokens, workers, policy=policy),
            PrefixTable(trace.chunk_tokens, block_tokens),
            self.recorder,
            times.frontend,
            scenario.frontend,
            seed=scenario.seed,
            max_model_len=scenario.max_model_len,
            attention_group=attention_group,
            host_events=scenario.offload is not None and scenario.offload.kv_events == "self-describing",
            track_outputs=scenario.router.track_output_blocks,
        )
        law = step_time or StepLaw(times.step)
        self.workers = [self._worker(index, law) for index in range(workers)]
        self.frontend.workers = self.workers
        self.client = make_client(self.env, trace, scenario.replay, self.frontend.submit)

    def _worker(self, index: int, law: StepTime) -> Worker:
        scenario, capacity = self._scenario, self.capacity
        engine, model = scenario.engine, scenario.model
        cache = KvCache(capacity.num_blocks, capacity.block_tokens, model.state_groups)
        offload, link = None, None
        if scenario.offload is not None:
            tier = POLICIES[scenario.offload.eviction_policy](capacity.host[0].blocks)
            offload = OffloadingConnector(cache, tier, prompt_only=scenario.offload.offload_prompt_only)
            link = HostLink(scenario.offload.link, capacity.block_bytes, model.full_attention_layers)
        limits = Limits(
            max_batched_tokens=engine.max_num_batched_tokens,
            max_seqs=engine.max_num_seqs,
            max_model_len=scenario.max_model_len,
            long_prefill_threshold_tokens=engine.long_prefill_token_threshold,
            watermark=engine.watermark,
            async_scheduling=engine.async_scheduling,
        )
        return Worker(
            self.env,
            index,
            Engine(cache, limits, offload),
            law,
            link,
            self.recorder,
            self.frontend,
            fast_forward=engine.fast_forward,
            run_limit=self._until_output_block if scenario.router.track_output_blocks else None,
        )

    def _until_output_block(self, requests: list[ActiveRequest]) -> int:
        """Tokens that each of these requests can generate before the router has to hear of a new block."""
        block = self.capacity.block_tokens
        return min(-(request.prompt_tokens + request.outputs) % block for request in requests)

    def run(self, on_progress: Progress | None = None) -> None:
        """Replay the whole trace; what has not ended when nothing can happen any more is unfinished."""

        def ended(request: Request) -> None:
            self.client.ended(request)
            if on_progress is not None:
                on_progress(self.env.now, self.recorder.ended, self._requests)

        self.frontend.ended = ended
        self.client.start()
        self.env.run()
        self.recorder.close(self.env.now)
