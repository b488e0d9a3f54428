"""What the command lines of vLLM engines (0.28.0, 0.33.0), plain or Dynamo's, say of a scenario."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sim.base.errors import InputError
from sim.base.reading import json_object
from sim.measured.formats.flags import Command
from sim.measured.mirror.dtypes import tell_kv_dtype, tell_state_dtype
from sim.measured.mirror.found import Found
from sim.measured.mirror.releases import tell_kernel, tell_newer, tell_retention
from sim.measured.mirror.unread import leave_unread, shown

_WHOLE = {
    "block-size": "engine.block_size",
    "max-num-seqs": "engine.max_num_seqs",
    "max-num-batched-tokens": "engine.max_num_batched_tokens",
    "max-model-len": "engine.max_model_len",
    "long-prefill-token-threshold": "engine.long_prefill_token_threshold",
    "max-num-active-seqs": "engine.max_num_active_seqs",
    "max-num-queued-reqs": "engine.max_num_queued_reqs",
    "max-num-queued-tokens": "engine.max_num_queued_tokens",
    "prefill-schedule-interval": "engine.prefill_schedule_interval",
}
_BLOCKS = "num-gpu-blocks-override"
_RETENTION = "prefix-cache-retention-interval"
_ADAPTIVE = "long-prefill-token-threshold-adaptive"
_KERNEL = "gdn-prefill-backend"
_PARALLEL = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
_MODEL = ("model", "model-path")
_POOL = ("disaggregation-mode", "is-prefill-worker", "is-decode-worker")
READ = frozenset(
    {
        *_WHOLE,
        *_PARALLEL,
        *_MODEL,
        *_POOL,
        _BLOCKS,
        _RETENTION,
        _ADAPTIVE,
        _KERNEL,
        "async-scheduling",
        "dtype",
        "enable-prefix-caching",
        "gpu-memory-utilization",
        "kv-cache-dtype",
        "kv-offloading-size",
        "kv-transfer-config",
        "mamba-ssm-cache-dtype",
        "num-workers",
        "quantization",
        "speculative-config",
    }
)
"""Options that something is made of, or that are refused a setting with a word."""
_CONNECTOR_KEYS = frozenset({"kv_connector", "kv_role", "kv_connector_extra_config"})
_OFFLOAD_KEYS = frozenset(
    {
        "cpu_bytes_to_use",
        "eviction_policy",
        "offload_prompt_only",
        "self_describing_kv_events",
        "sync_load_budget_bytes",
    }
)
_WEIGHTS = {"fp8": "fp8"}
_FULL_WIDTH = ("auto", "bfloat16", "half", "float16")
"""Formats of two bytes: what is in them makes no difference here."""


def tell_engines(engines: Sequence[Command], found: Found) -> None:
    """Add what the engines' command lines say: of a disaggregated cluster, the prefill engines first.

    Raises:
        InputError: the value of an option is not what it must be.

    """
    pools: dict[str, list[Command]] = {"prefill": [], "decode": [], "aggregated": []}
    for engine in engines:
        pools[_pool(engine)].append(engine)
    if pools["aggregated"] and (pools["prefill"] or pools["decode"]):
        raise InputError(
            "some engines have --disaggregation-mode and others have not: a scenario has one of both layouts"
        )
    tell_newer(engines, found)
    disaggregated = bool(pools["prefill"] or pools["decode"])
    layout = ("prefill", "decode") if disaggregated else ("aggregated",)
    for pool in layout:
        key = "count" if pool == "aggregated" else pool
        n, source = _count(pools[pool])
        found.tell(f"workers.{key}", n or None, source)
        for number, engine in enumerate(pools[pool]):
            _tell_engine(engine, pool, f" of {pool} engine {number}" if number else "", found)
    leave_unread(engines, "the engines", READ, found)


def is_split(engines: Sequence[Command]) -> bool:
    """Whether any of these engines is a prefill or a decode engine."""
    return any(_pool(engine) != "aggregated" for engine in engines)


def model_name(engine: Command) -> str | None:
    """Return the model that an engine's command line names."""
    return engine.value(*_MODEL) or engine.served


def _count(engines: Sequence[Command]) -> tuple[int, str]:
    """Return how many engines command lines start: Dynamo's mocker is told how many it is."""
    numbers = [engine.integer("num-workers") for engine in engines]
    source = "--num-workers" if any(numbers) else "the number of command lines"
    return sum(number or 1 for number in numbers), source


def _pool(engine: Command) -> str:
    mode = engine.value("disaggregation-mode")
    if mode in ("prefill", "decode"):
        return mode
    if "is-prefill-worker" in engine.options:
        return "prefill"
    return "decode" if "is-decode-worker" in engine.options else "aggregated"


def _tell_engine(engine: Command, pool: str, whose: str, found: Found) -> None:
    """Add what one engine says; `whose` names it where it is not the first of its pool."""
    for option, key in _WHOLE.items():
        found.tell(key, engine.integer(option), f"--{option}{whose}")
    blocks_key = "disaggregation.decode_kv_blocks" if pool == "decode" else "engine.kv_blocks"
    found.tell(blocks_key, engine.integer(_BLOCKS), f"--{_BLOCKS}{whose}")
    found.tell(
        "engine.gpu_memory_utilization",
        engine.real("gpu-memory-utilization"),
        f"--gpu-memory-utilization{whose}",
    )
    found.tell(
        "engine.async_scheduling", engine.switch("async-scheduling"), f"--[no-]async-scheduling{whose}"
    )
    found.tell(
        "engine.long_prefill_token_threshold_adaptive", engine.switch(_ADAPTIVE), f"--[no-]{_ADAPTIVE}{whose}"
    )
    tell_retention(engine.value(_RETENTION), f"--{_RETENTION}{whose}", found)
    if (kernel := engine.value(_KERNEL)) not in (None, "auto"):
        tell_kernel(kernel, f"--{_KERNEL} {kernel}{whose}", found)
    _tell_formats(engine, whose, found)
    if engine.switch("enable-prefix-caching") is False:
        found.not_like("--no-enable-prefix-caching: the simulator's engines always reuse prefixes")
    for option in _PARALLEL:
        if (value := engine.value(option)) not in (None, "", "1"):
            found.not_like(f"--{option} {value}: not modelled, one engine is one GPU")
    if (value := engine.value("speculative-config")) is not None:
        found.not_like(f"--speculative-config {shown('', value)}: not modelled")
    if size_gib := engine.real("kv-offloading-size"):
        found.tell("offload.cpu_bytes", round(size_gib * 2**30), f"--kv-offloading-size{whose}")
    if transfer := engine.value("kv-transfer-config"):
        _tell_transfer(_parsed(transfer), pool, whose, found)


def _tell_formats(engine: Command, whose: str, found: Found) -> None:
    """Add the number formats: of the KV cache, of recurrent states, of the weights."""
    tell_kv_dtype(engine.value("kv-cache-dtype"), f"--kv-cache-dtype{whose}", found)
    tell_state_dtype(engine.value("mamba-ssm-cache-dtype"), f"--mamba-ssm-cache-dtype{whose}", found)
    if (method := engine.value("quantization")) is not None:
        found.tell("model.weights_dtype", _WEIGHTS.get(method), f"--quantization{whose}")
        if method not in _WEIGHTS:
            found.not_like(f"--quantization {method}: not modelled, so weights have their model's format")
    if (dtype := engine.value("dtype")) not in (None, *_FULL_WIDTH):
        found.not_like(f"--dtype {dtype}: not modelled, so the model has formats of two bytes")


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return json_object(text, "the option")
    except InputError as error:
        raise InputError(f"--kv-transfer-config {text[:60]!r}: {error}") from error


def _tell_transfer(config: Mapping[str, Any], pool: str, whose: str, found: Found) -> None:
    source = f"--kv-transfer-config{whose}"
    order = []
    for connector in _connectors(config):
        name = connector.get("kv_connector")
        found.leave(
            "--kv-transfer-config", (f"{name}: {key}" for key in connector if key not in _CONNECTOR_KEYS)
        )
        if name == "OffloadingConnector":
            order.append("offload")
            _tell_offload(connector.get("kv_connector_extra_config", {}), pool, source, found)
        elif name == "NixlConnector":
            order.append("nixl")
            if pool != "aggregated":
                found.tell(f"disaggregation.{pool}_kv_role", connector.get("kv_role"), source)
        else:
            found.not_like(f"{source}: connector {name} is not modelled")
    if pool == "prefill" and len(order) == 2:
        found.tell("disaggregation.connector_order", order, source)


def _connectors(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if config.get("kv_connector") == "MultiConnector":
        yield from config.get("kv_connector_extra_config", {}).get("connectors", ())
    else:
        yield config


def _tell_offload(extra: Mapping[str, Any], pool: str, source: str, found: Found) -> None:
    if pool == "decode":
        found.not_like(f"{source}: a CPU tier of decode workers is not modelled")
        return
    found.leave(
        "--kv-transfer-config", (f"OffloadingConnector: {key}" for key in extra if key not in _OFFLOAD_KEYS)
    )
    found.tell("offload.cpu_bytes", extra.get("cpu_bytes_to_use"), source)
    found.tell("offload.eviction_policy", extra.get("eviction_policy"), source)
    found.tell("engine.sync_load_budget_bytes", extra.get("sync_load_budget_bytes"), source)
    found.tell("offload.offload_prompt_only", extra.get("offload_prompt_only"), source)
    if "self_describing_kv_events" in extra:
        describing = "self-describing" if extra["self_describing_kv_events"] else "placeholder"
        found.tell("offload.kv_events", describing, source)
