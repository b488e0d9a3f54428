"""Whether the sections of a scenario go together."""

from typing import Protocol

from sim.base.errors import InputError
from sim.base.words import exactly, format_bytes
from sim.engine.settings import EngineSettings
from sim.hardware.cache_groups import cache_layout
from sim.hardware.capacity import cpu_blocks, host_block_bytes
from sim.hardware.model import GpuSettings, ModelSettings
from sim.hardware.sharding import check_parallel, sharded
from sim.links.placement import place
from sim.links.pull_shape import check_pull
from sim.scenario.faults import Faults, disagreement_of
from sim.scenario.problems import disagreement
from sim.scenario.releases import check_release
from sim.scenario.sections import (
    DisaggregationSettings,
    FrontendSettings,
    OffloadSettings,
    RouterSettings,
    WorkersSettings,
)


class Parts(Protocol):
    """The sections of a scenario, and what follows from some of them."""

    @property
    def model(self) -> ModelSettings:
        """What is served."""

    @property
    def gpu(self) -> GpuSettings:
        """On which GPU."""

    @property
    def workers(self) -> WorkersSettings:
        """By how many engines."""

    @property
    def engine(self) -> EngineSettings:
        """How each is started."""

    @property
    def offload(self) -> OffloadSettings | None:
        """Their CPU tier."""

    @property
    def disaggregation(self) -> DisaggregationSettings:
        """How they are joined."""

    @property
    def frontend(self) -> FrontendSettings:
        """What stands before them."""

    @property
    def router(self) -> RouterSettings:
        """Who chooses among them."""

    @property
    def faults(self) -> Faults:
        """What goes wrong."""

    @property
    def block_size(self) -> int:
        """What an engine is started with as `--block-size`."""

    @property
    def block_tokens(self) -> int:
        """Tokens of one KV block."""

    @property
    def state_step_tokens(self) -> int:
        """What a hybrid model's block is a multiple of."""

    @property
    def max_model_len(self) -> int:
        """Longest sequence that an engine serves."""


def check_agreement(scenario: Parts) -> None:
    """Raise the error of a key that is fine in itself and does not go with another section."""
    _check_gpus(scenario)
    check_release(scenario)
    _check_lengths(scenario)
    _check_host_memory(scenario)
    _check_faults(scenario)
    _check_return(scenario)
    _check_bypass(scenario)


def _check_gpus(scenario: Parts) -> None:
    """Check how engines are spread, and whether vLLM joins prefill and decode engines that are."""
    workers, model, gpu = scenario.workers, scenario.model, scenario.gpu
    try:
        check_parallel(model, gpu, workers.parallel)
        if not workers.decode:
            return
        check_parallel(model, gpu, workers.decode_parallel)
        plain = model.latent is None and not model.state_groups
        check_pull(workers.parallel, workers.decode_parallel, kv_heads=model.kv_heads, splits_heads=plain)
    except InputError as error:
        raise disagreement("workers", str(workers), str(error)) from error
    block, there = (
        scenario.block_tokens,
        cache_layout(model, scenario.block_size, workers.decode_parallel, scenario.state_step_tokens),
    )
    if there.block_tokens != block:
        raise disagreement(
            "workers",
            str(workers),
            f"a block of a decode worker has {exactly(there.block_tokens, 'token')}, of a prefill worker "
            f"{block}: "
            "they cannot be pulled; give both the same tensor_parallel",
        )


def _check_lengths(scenario: Parts) -> None:
    engine, model, block = scenario.engine, scenario.model, scenario.block_tokens
    if scenario.router.block_size not in (None, block):
        raise disagreement(
            "router.block_size",
            scenario.router.block_size,
            f"the engine's blocks have {exactly(block, 'token')}, and no prefix is found unless both are "
            "equal; "
            f"leave it out, or give {block}",
        )
    if scenario.max_model_len > model.max_model_len:
        raise disagreement(
            "engine.max_model_len",
            engine.max_model_len,
            f"the model's is {model.max_model_len}; raise model.max_model_len for a stretched model",
        )
    # vLLM ends a hybrid model's chunk on a block boundary: shorter chunks would never reach one.
    if model.state_groups and 0 < engine.long_prefill_token_threshold < block:
        raise disagreement(
            "engine.long_prefill_token_threshold",
            engine.long_prefill_token_threshold,
            f"must be 0 or at least a block of this hybrid model, {exactly(block, 'token')}",
        )


def _check_host_memory(scenario: Parts) -> None:
    offload = scenario.offload
    if offload is None:
        return
    engine = sharded(
        scenario.model, scenario.workers.parallel, scenario.block_size, scenario.state_step_tokens
    )
    size = host_block_bytes(engine)
    if not cpu_blocks(offload.cpu_bytes, size):
        raise disagreement(
            "offload.cpu_bytes",
            offload.cpu_bytes,
            f"does not hold one KV block of {format_bytes(size)}; give more, or leave offload out",
        )


def _check_return(scenario: Parts) -> None:
    """Check what KV needs that is to flow back to prefill workers."""
    joined, workers = scenario.disaggregation, scenario.workers
    if joined.return_kv is None or not workers.decode:
        if joined.decode_cpu_bytes is not None:
            raise disagreement(
                "disaggregation.decode_cpu_bytes",
                joined.decode_cpu_bytes,
                'decode workers use host memory only with disaggregation.return_kv = "host"',
            )
        return
    reason = None
    if scenario.offload is None:
        reason = "comes in through host memory of the prefill workers: give [offload]"
    elif workers.parallel != workers.decode_parallel:
        reason = "needs workers that are all spread over GPUs alike: vLLM's p2p tier refuses others"
    elif any(fault.kind in ("worker-dies", "worker-drains") for fault in scenario.faults):
        reason = "is not simulated beside workers that go: take those out of faults"
    if reason is not None:
        raise disagreement("disaggregation.return_kv", joined.return_kv, reason)


def _check_bypass(scenario: Parts) -> None:
    """Check that it is said when a prefill worker is busy, where somebody asks."""
    settings = scenario.disaggregation.conditional
    if settings is None or not settings.asks_prefill:
        return
    if settings.beside_queue(scenario.router.queue_threshold).prefill_busy_threshold is None:
        raise disagreement(
            "disaggregation.conditional",
            settings.policy,
            f'policy "{settings.policy}" needs prefill_busy_threshold, a number from 0 on: the share of '
            "max_num_batched_tokens above which a prefill worker is busy; or router.queue_threshold",
        )


def _check_faults(scenario: Parts) -> None:
    workers, faults = scenario.workers, scenario.faults
    if not faults:
        return
    nodes = 1
    if workers.decode:
        nodes = 1 + max(place(scenario.disaggregation.placement, workers.first, workers.then).nodes)
    reason = disagreement_of(
        faults,
        workers=workers.ranks,
        nodes=nodes,
        disaggregated=workers.prefill is not None,
        offload=scenario.offload is not None,
        front_ends=scenario.frontend.replicas,
    )
    if reason is not None:
        raise disagreement("faults", faults, reason)
