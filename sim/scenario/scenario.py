"""What a user writes: one run of the simulator, in TOML. Nothing else parses it.

The settings of a rule stand beside the rule (workload, replay, router, SLO, model and GPU), those that join
them to a cluster in `sim.scenario.sections`. `sim schema` prints all of them as JSON Schema.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sim.base.bounds import Seed
from sim.base.errors import InputError
from sim.base.settings import Settings
from sim.base.uncertainty import draw_defaults
from sim.engine.rules.states import state_rules
from sim.engine.settings import EngineSettings
from sim.hardware.cache_groups import cache_layout
from sim.hardware.capacity import Capacity, capacity
from sim.hardware.coefficients import Coefficients, times
from sim.hardware.gdn_kernel import saves_inside, state_step_tokens
from sim.hardware.hosts import HostSettings
from sim.hardware.model import KERNEL_BLOCK_TOKENS
from sim.hardware.parallel import Parallel
from sim.hardware.presets import GpuChoice, ModelChoice
from sim.hardware.runtime_memory import RELEASE
from sim.hardware.server_defaults import server_defaults
from sim.hardware.timing import TimingSettings
from sim.kv.state_rules import StateRules
from sim.links.of_gpu import host_link_of, network_of_gpu
from sim.links.settings import NetworkSettings
from sim.links.transfer import LinkSettings
from sim.results.slo import Slo
from sim.scenario.agreement import check_agreement
from sim.scenario.faults import Faults
from sim.scenario.schema import JsonSchema
from sim.scenario.sections import (
    DisaggregationSettings,
    FrontendSettings,
    OffloadSettings,
    OutputSettings,
    RouterSettings,
    WorkersSettings,
)
from sim.workload.settings import ReplaySettings, WorkloadSettings


class Scenario(Settings):
    """One run: what is sent, how, to which cluster, and what is kept of it."""

    title: str = ""
    """A line above the results; unset: the name of the file."""
    seed: Seed = 0
    """Of the generated workload and of every random choice."""
    workload: WorkloadSettings
    """What is sent: a trace file, or sessions to generate."""
    replay: ReplaySettings = ReplaySettings()
    """When each request is sent."""
    model: ModelChoice
    """A preset, the path of a Hugging Face `config.json`, or a table of either and what differs."""
    gpu: GpuChoice
    """A preset, or a table of one and what differs."""
    workers: WorkersSettings
    """The engines of the cluster."""
    engine: EngineSettings = Field(default=EngineSettings(), validate_default=True)
    """How each engine is started; limits of a step that are not given are those of vLLM's server on this
    GPU."""
    offload: OffloadSettings | None = None
    """The engines' CPU tier; unset: there is none."""
    disaggregation: DisaggregationSettings = Field(default=DisaggregationSettings(), validate_default=True)
    """How prefill and decode workers are joined; means nothing to aggregated ones."""
    router: RouterSettings = RouterSettings()
    """Who gets which request."""
    frontend: FrontendSettings = FrontendSettings()
    """Time between client, router and workers."""
    hosts: HostSettings = HostSettings()
    """What client and workers do for a prompt while others get no tokens; unset: nothing that takes time."""
    timing: TimingSettings = TimingSettings()
    """How long a step takes."""
    slo: Slo | None = None
    """Limits that a good request keeps; unset: no goodput is counted."""
    output: OutputSettings = OutputSettings()
    """What is kept."""
    faults: Faults = ()
    """What goes wrong, and when; none if empty."""

    @field_validator("engine", mode="after")
    @classmethod
    def _as_the_server(cls, engine: EngineSettings, info: ValidationInfo) -> EngineSettings:
        gpu = info.data.get("gpu")
        if gpu is None:  # it is wrong itself
            return engine
        unset = server_defaults(gpu)._asdict().items()
        return engine.model_copy(update={k: v for k, v in unset if k not in engine.model_fields_set})

    @field_validator("offload", mode="after")
    @classmethod
    def _over_its_pcie(cls, offload: OffloadSettings | None, info: ValidationInfo) -> OffloadSettings | None:
        gpu = info.data.get("gpu")
        if gpu is None or offload is None:
            return offload
        return offload.model_copy(update={"link": host_link_of(gpu, offload.link)})

    @field_validator("disaggregation", mode="after")
    @classmethod
    def _over_its_nvlink(cls, joined: DisaggregationSettings, info: ValidationInfo) -> DisaggregationSettings:
        gpu, workers = info.data.get("gpu"), info.data.get("workers")
        if gpu is None or workers is None or not workers.decode:
            return joined
        return joined.model_copy(update={"network": network_of_gpu(gpu, joined.network)})

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        check_agreement(self)
        return self

    @property
    def can_break(self) -> bool:
        """Whether requests may fail, or be given up by their clients."""
        return bool(self.faults) or self.replay.timeout_s is not None

    @property
    def block_tokens(self) -> int:
        """Tokens of one KV block, of the engine and of the router."""
        layout = cache_layout(self.model, self.block_size, self.workers.parallel, self.state_step_tokens)
        return layout.block_tokens

    @property
    def block_size(self) -> int:
        """What the engine is started with as `--block-size`."""
        return self.engine.block_size or KERNEL_BLOCK_TOKENS

    @property
    def state_rules(self) -> StateRules:
        """What engines do with recurrent states."""
        inside = saves_inside(self.model, self.gpu, self.engine.gdn_prefill_backend)
        return state_rules(self.engine, saves_inside=inside)

    @property
    def state_step_tokens(self) -> int:
        """What a hybrid model's block is a multiple of."""
        return state_step_tokens(inside=self.state_rules.saves_inside)

    @property
    def max_model_len(self) -> int:
        """Longest sequence that an engine serves, prompt and output together."""
        return self.engine.max_model_len or self.model.max_model_len

    def capacity(self, release: str = RELEASE) -> Capacity:
        """Return how the memory of a GPU of an aggregated or a prefill worker is divided.

        Args:
            release: of vLLM, whose way of counting working memory applies.

        Raises:
            InputError: weights and runtime leave no room for a KV pool, or vLLM refuses the parallel sizes.

        """
        return self._capacity(self.workers.parallel, self.engine.kv_blocks, release)

    def decode_capacity(self) -> Capacity:
        """Return the same of a decode worker: unless it says otherwise, its pool is that of a prefill worker.

        Raises:
            InputError: weights and runtime leave no room for a KV pool, or vLLM refuses the parallel sizes.

        """
        return self._capacity(
            self.workers.decode_parallel,
            self.disaggregation.decode_kv_blocks or self.engine.kv_blocks,
            cpu_bytes=self.disaggregation.decode_cpu_bytes,
        )

    def _capacity(
        self,
        parallel: Parallel,
        kv_blocks: int | None,
        release: str = RELEASE,
        *,
        cpu_bytes: int | None = None,
    ) -> Capacity:
        return capacity(
            self.model.model_copy(update={"max_model_len": self.max_model_len}),
            self.gpu,
            gpu_memory_utilization=self.engine.gpu_memory_utilization,
            kv_blocks=kv_blocks,
            block_size=self.block_size,
            max_num_batched_tokens=self.engine.max_num_batched_tokens,
            max_num_seqs=self.engine.max_num_seqs,
            async_scheduling=self.engine.asynchronous,
            offload_bytes=() if self.offload is None else (cpu_bytes or self.offload.cpu_bytes,),
            parallel=parallel,
            release=release,
            states=self.state_rules,
            state_step_tokens=self.state_step_tokens,
        )

    def coefficients(self) -> Coefficients:
        """Return the times of model and GPU, with what `timing` and `frontend` say laid over them.

        Raises:
            InputError: the file of coefficients cannot be used, or there is none to draw from.

        """
        return self._coefficients(self.workers.parallel)

    def decode_coefficients(self) -> Coefficients:
        """Return the same of a decode worker, which may be spread over another number of GPUs."""
        return self._coefficients(self.workers.decode_parallel)

    def _coefficients(self, parallel: Parallel) -> Coefficients:
        found = times(self.model, self.gpu, self.timing.preset, self.timing.coefficients, parallel)
        if self.timing.draw:
            found = found.drawn(self.timing.draw)
        step = _given(self.timing, type(found.step).model_fields)
        frontend = _given(self.frontend, type(found.frontend).model_fields)
        hosts = self.hosts.coefficients(self.timing.draw)
        if hosts != found.hosts:
            taken = ", ".join(name for name, value in hosts if value)
            found = replace(found, hosts=hosts, summary=f"{found.summary}; hosts take time: {taken}")
        if not step and not frontend:
            return found
        label = f" ({self.timing.label})" if self.timing.label else ""
        return replace(
            found,
            step=found.step.model_copy(update=step),
            frontend=found.frontend.model_copy(update=frontend),
            summary=f"{found.summary}; given in the scenario: {', '.join([*step, *frontend])}{label}",
        )

    def draws(self, n: int | None) -> list[Self]:
        """Return the scenario with draws 1 to `n` of its coefficients; as it is if `n` is None.

        Raises:
            InputError: it has none to draw from, or is one draw already.

        """
        if n is None:
            return [self]
        if self.timing.draw:
            raise InputError(f"timing.draw = {self.timing.draw} is one draw already; leave it out")
        if self.timing.preset not in (None, "aiconfigurator"):
            raise InputError(f'timing.preset = "{self.timing.preset}" has no ranges to draw from')
        drawn = [
            self.model_copy(update={"timing": self.timing.model_copy(update={"draw": k})})
            for k in range(1, n + 1)
        ]
        drawn[0].coefficients()
        return drawn

    def host_link(self) -> LinkSettings:
        """Return the link between a GPU and its host: at a draw, with draws of its defaults."""
        link = self.offload.link if self.offload else LinkSettings()
        return draw_defaults(link, "pcie", self.timing.draw) if self.timing.draw else link

    def network(self) -> NetworkSettings:
        """Return the links between workers: at a draw, with draws of their defaults."""
        network, k = self.disaggregation.network, self.timing.draw
        if not k:
            return network
        drawn = {name: draw_defaults(getattr(network, name), name, k) for name in ("nvlink", "roce")}
        return network.model_copy(update=drawn)

    def to_toml(self) -> str:
        """Return the scenario with every default written out; `load_scenario` reads it back equal."""
        import tomlkit  # noqa: PLC0415 - only needed to write

        return tomlkit.dumps(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario with every default, as `tomllib` reads what `to_toml` writes."""
        content = self.model_dump(mode="json", exclude_none=True)
        unused = self.workload.meaningless
        content["workload"] = {k: v for k, v in content["workload"].items() if k not in unused}
        if not self.faults:
            del content["faults"]
        if self.hosts == HostSettings():
            del content["hosts"]
        return content


@cache
def scenario_schema() -> JsonSchema:
    """Return the JSON Schema of a scenario."""
    return Scenario.model_json_schema()


def _given(settings: Settings, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(settings, key) for key in keys if getattr(settings, key) is not None}
