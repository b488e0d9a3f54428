"""Whether an engine's settings are those of its release of vLLM, and in its range."""

from typing import Protocol

from sim.engine.settings import EngineSettings
from sim.hardware.model import ModelSettings
from sim.scenario.problems import disagreement
from sim.scenario.sections import WorkersSettings

SINCE_0_33 = (
    "max_num_active_seqs",
    "max_num_queued_reqs",
    "max_num_queued_tokens",
    "long_prefill_token_threshold_adaptive",
    "prefix_cache_retention_interval",
    "sync_load_budget_bytes",
)
"""Settings that vLLM 0.28 does not have."""


class Parts(Protocol):
    """What a scenario says of its engines."""

    @property
    def engine(self) -> EngineSettings:
        """How each is started."""

    @property
    def model(self) -> ModelSettings:
        """What is served."""

    @property
    def workers(self) -> WorkersSettings:
        """By how many engines."""

    @property
    def block_tokens(self) -> int:
        """Tokens of one KV block."""


def check_release(scenario: Parts) -> None:
    """Raise the error of a setting of the engine that its release does not have, or refuses."""
    engine = scenario.engine
    if engine.version == "0.28":
        _check_0_28(engine)
    elif engine.vllm_0_28_faults:
        raise disagreement(
            "engine.vllm_0_28_faults", True, f"vLLM {engine.version} is without that fault: leave it out"
        )
    active = engine.max_num_active_seqs
    if active is not None and active > engine.max_num_seqs:
        raise disagreement(
            "engine.max_num_active_seqs",
            active,
            f"must be at most engine.max_num_seqs = {engine.max_num_seqs}",
        )
    if engine.prefill_schedule_interval > 1 and scenario.model.experts and _ranks(scenario) > 1:
        raise disagreement(
            "engine.prefill_schedule_interval",
            engine.prefill_schedule_interval,
            "data-parallel ranks of a model with experts go in lock step, which is not simulated: give 1",
        )
    _check_retention(scenario)


def _ranks(scenario: Parts) -> int:
    return max(scenario.workers.parallel.data, scenario.workers.decode_parallel.data)


def _check_0_28(engine: EngineSettings) -> None:
    for key in SINCE_0_33:
        value = getattr(engine, key)
        if value != type(engine).model_fields[key].default and value != "dense":
            raise disagreement(
                f"engine.{key}",
                str(value).lower() if isinstance(value, bool) else value,
                'vLLM 0.28 has no such setting: give engine.version = "0.33", or leave it out',
            )


def _check_retention(scenario: Parts) -> None:
    """Check the interval as vLLM does when it starts."""
    interval, model, block = (
        scenario.engine.prefix_cache_retention_interval,
        scenario.model,
        scenario.block_tokens,
    )
    if interval in (None, 0, "dense"):
        return
    reason = None
    if not model.state_groups and model.windows is None:
        reason = "this model has neither recurrent states nor windows: give 0, or leave it out"
    elif int(interval) % block:
        reason = f"must be a multiple of a block, here {block} tokens"
    if reason is not None:
        raise disagreement("engine.prefix_cache_retention_interval", interval, reason)
