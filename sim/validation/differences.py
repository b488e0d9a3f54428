"""Where the engines of a scenario are not those that a run recorded, by the run's own files.

A replay on other engines predicts another cluster. With blocks of another size, a pool of another length or
a model with other kinds of layers it says nothing of the recording: such a scenario is refused unless it is
asked for, by an override of that very key or by --allow-differences. Whatever differs is named.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.base.errors import InputError
from sim.hardware.gdn_kernel import saves_inside
from sim.measured.mirror.found import Found, KeyPath, Setting
from sim.measured.mirror.model import CACHED
from sim.measured.run import MeasuredRun
from sim.measured.workers import MeasuredWorker
from sim.scenario.scenario import Scenario

_SECTIONS = ("workers", "engine", "offload", "disaggregation", "router")
_ELSEWHERE = ("engine.kv_blocks", "disaggregation.decode_kv_blocks", "engine.block_size")
"""Compared engine by engine."""
_NOT_REPLAYED = ("engine.gpu_memory_utilization",)
"""Without effect where the blocks are known."""
_SHAPE = ("preset", *CACHED, "kv_dtype", "ssm_state_dtype")
_ASKED_FOR = "--allow-differences"


@dataclass(frozen=True, slots=True)
class EngineDifference:
    """One thing in which they differ."""

    key: str
    """Of the scenario; of a model "model", of what no scenario can have ""."""
    recorded: Any
    source: str
    """What of the run says so."""
    scenario: Any
    decisive: bool
    """Whether a comparison says nothing of the recording."""

    def __str__(self) -> str:
        if not self.key:
            return f"{self.recorded} ({self.source})"
        return f"{self.key}: recorded {_shown(self.recorded)} ({self.source}), here {_shown(self.scenario)}"


def differences(run: MeasuredRun, scenario: Scenario, told: Found) -> list[EngineDifference]:
    """Return all of them, those that decide first; `told`: what the run's files tell of a scenario."""
    found = [
        *_blocks(run, scenario, told),
        *_model(run, scenario, told),
        *_settings(scenario, told.settings),
        *(EngineDifference("", text, "not modelled", None, decisive=False) for text in told.not_modelled),
    ]
    if scenario.offload is None and any(_has_host_tier(run, worker) for worker in run.workers):
        found.append(EngineDifference("offload", "a CPU tier", "vllm:kv_offload_", None, decisive=False))
    return sorted(dict.fromkeys(found), key=lambda difference: not difference.decisive)


def refuse(run: MeasuredRun, found: Sequence[EngineDifference], overrides: Sequence[str]) -> None:
    """Raise InputError if any difference decides that no override asks for."""
    asked = {override.partition("=")[0].strip() for override in overrides}
    if any(key.partition(".")[0] == "model" for key in asked):
        asked |= {"engine.block_size", "model", "model.linear_attention_layers"}
    decisive = [str(one) for one in found if one.decisive and one.key not in asked]
    if decisive:
        raise InputError(
            f"{run.folder.path}: these are not the recorded engines, so nothing can be said of them: "
            f"{'; '.join(decisive)}. Take a scenario of that cluster (sim init --measured makes it), or "
            f"{_ASKED_FOR} to compare them all the same"
        )


def _blocks(run: MeasuredRun, scenario: Scenario, told: Found) -> Iterator[EngineDifference]:
    """Compare the size of a block and the number of blocks of each engine."""
    pools = {"aggregated": scenario.capacity().num_blocks}
    pools["prefill"] = pools["aggregated"]
    pools["decode"] = scenario.decode_capacity().num_blocks if scenario.workers.decode else pools["prefill"]
    block_tokens = run.block_tokens
    if block_tokens not in (None, scenario.block_tokens):
        sizes = [worker.name for worker in run.workers if worker.block_tokens]
        source = f"vllm:cache_config_info of {sizes[0]}" if sizes else "the router"
        yield EngineDifference(
            "engine.block_size", block_tokens, source, scenario.block_tokens, decisive=True
        )
    first: dict[str, Setting] = {}
    for worker in run.workers:
        if worker.kv_blocks is not None:
            found = Setting(worker.kv_blocks, f"vllm:cache_config_info of {worker.name}")
            first.setdefault(worker.pool, found)
            # A scenario has one number for all engines of a pool.
            if found.value != first[worker.pool].value:
                yield _pool(worker.pool, found, pools, decisive=False)
    for key, pool in (("engine.kv_blocks", "aggregated"), ("disaggregation.decode_kv_blocks", "decode")):
        if (setting := told.settings.get(tuple(key.split(".")))) and not first:
            first[pool] = setting
    for name, setting in first.items():
        if setting.value != pools[name]:
            yield _pool(name, setting, pools, decisive=True)


def _pool(pool: str, recorded: Setting, here: Mapping[str, int], *, decisive: bool) -> EngineDifference:
    key = "disaggregation.decode_kv_blocks" if pool == "decode" else "engine.kv_blocks"
    return EngineDifference(key, recorded.value, recorded.source, here[pool], decisive=decisive)


def _model(run: MeasuredRun, scenario: Scenario, told: Found) -> Iterator[EngineDifference]:
    """Compare the kinds of layers, and what of the shape is known of the run."""
    is_hybrid = bool(scenario.model.linear_attention_layers)
    source, recorded = _kind(run)
    if recorded not in (None, is_hybrid):
        yield EngineDifference("model", _kind_text(recorded), source, _kind_text(is_hybrid), decisive=True)
    for path, setting in told.settings.items():
        if path[0] != "model":
            continue
        key, name, theirs = ".".join(path), path[1], setting.value
        ours = scenario.model.name if name == "preset" else getattr(scenario.model, name, None)
        other_kind = name == "linear_attention_layers" and bool(theirs) != is_hybrid
        hybrid_only = name.startswith(("linear_", "ssm_")) and not is_hybrid and not other_kind
        if name in _SHAPE and ours != theirs and not hybrid_only:
            yield EngineDifference(key, theirs, setting.source, ours, decisive=other_kind)


def _kind(run: MeasuredRun) -> tuple[str, bool | None]:
    """Return whether the recorded engines keep recurrent states, and what says so."""
    for worker in run.workers:
        if worker.is_hybrid is not None:
            return f"mamba_cache_mode by vllm:cache_config_info of {worker.name}", worker.is_hybrid
    for name, log in run.kv_events.items():
        kinds = {event.group_kind for event in log.events} - {None}
        if kinds:
            return f"KV events of {name}", kinds != {"full_attention"}
    return "", None


def _kind_text(is_hybrid: bool | None) -> str:
    return "a hybrid model (recurrent states)" if is_hybrid else "full attention alone"


def _settings(scenario: Scenario, told: Mapping[KeyPath, Setting]) -> Iterator[EngineDifference]:
    """Compare all other settings that the run tells."""
    for path, setting in told.items():
        key = ".".join(path)
        if path[0] not in _SECTIONS or key in (*_ELSEWHERE, *_NOT_REPLAYED):
            continue
        ours = _ours(scenario, path)
        theirs = tuple(setting.value) if isinstance(setting.value, list) else setting.value
        if ours != theirs:
            yield EngineDifference(key, setting.value, setting.source, ours, decisive=False)


def _ours(scenario: Scenario, path: KeyPath) -> Any:
    """Return a setting of the scenario, or what it comes to where it is open."""
    engine, key = scenario.engine, ".".join(path)
    if key == "engine.max_model_len":
        return scenario.max_model_len
    if key == "engine.prefix_cache_retention_interval":
        return "dense" if engine.retention_tokens is None else engine.retention_tokens
    if key == "engine.gdn_prefill_backend":
        inside = saves_inside(scenario.model, scenario.gpu, engine.gdn_prefill_backend)
        return "flashinfer" if inside else "triton"
    found: Any = scenario
    for name in path:
        found = getattr(found, name, None)
    return found


def _has_host_tier(run: MeasuredRun, worker: MeasuredWorker) -> bool:
    window = run.windows.get(worker.name)
    return window is not None and window.last.has("vllm:kv_offload_")


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
