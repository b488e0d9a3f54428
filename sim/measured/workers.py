"""The engines of a run: by which name and id each is known, what it does, and what it counted."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from sim.measured.formats.prometheus import Histogram, Window
from sim.measured.formats.router_log import LoggedDecision

Pool = Literal["aggregated", "prefill", "decode"]

SOURCES = ("local_compute", "local_cache_hit", "external_kv_transfer")
"""Where prompt tokens came from, in vLLM's words."""

_BY_SOURCE = "vllm:prompt_tokens_by_source_total"
_CACHED_BY_SOURCE = "vllm:prompt_tokens_cached_by_source_total"
_COUNTERS = {
    "prefix_queries": "vllm:prefix_cache_queries_total",
    "prefix_hits": "vllm:prefix_cache_hits_total",
    "external_queries": "vllm:external_prefix_cache_queries_total",
    "external_hits": "vllm:external_prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
    "admission_rejections": "vllm:admission_rejections_total",
    "output_tokens": "vllm:generation_tokens_total",
    "finished_requests": "vllm:request_success_total",
    "pulled_bytes": "vllm:nixl_bytes_transferred_sum",
    "loaded_bytes": "vllm:kv_offload_load_bytes_total",
    "stored_bytes": "vllm:kv_offload_store_bytes_total",
}
DURATIONS = {
    "queue_s": "vllm:request_queue_time_seconds",
    "itl_s": "vllm:inter_token_latency_seconds",
    "pull_s": "vllm:nixl_xfer_time_seconds",
}
"""Histograms among the counters."""
_CONFIG = "vllm:cache_config_info"
_UPTIME = "dynamo_component_uptime_seconds"

FAMILIES = (
    _BY_SOURCE,
    _CACHED_BY_SOURCE,
    *_COUNTERS.values(),
    *DURATIONS.values(),
    _CONFIG,
    _UPTIME,
    "dynamo_component_requests_total",
)
"""What is read of a series that stands in for scrapes before and after."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What one engine's counters rose by, None where it exports none; tokens unless they say otherwise."""

    by_source: Mapping[str, int] | None
    """Prompt tokens by `SOURCES`, once a request, at its first token (vLLM 0.28.0)."""
    prefix_queries: int | None = None
    """Prompt tokens looked up in GPU memory, at each admission but those after a preemption."""
    prefix_hits: int | None = None
    external_queries: int | None = None
    """Those not found there, looked up by a connector: CPU tier, or a prefill worker."""
    external_hits: int | None = None
    cached_by_source: Mapping[str, int] | None = None
    """Those found, by the tier that had them ("device", "host", "p2p", "disk", "external_unspecified"), at
    each admission; vLLM 0.33 counts them."""
    preemptions: int | None = None
    """Events."""
    admission_rejections: int | None = None
    """Requests that a queue limit of vLLM 0.33 refused."""
    output_tokens: int | None = None
    finished_requests: int | None = None
    """Requests."""
    pulled_bytes: int | None = None
    """Bytes read from prefill workers."""
    loaded_bytes: int | None = None
    """Bytes loaded from the CPU tier."""
    stored_bytes: int | None = None
    """Bytes stored into it."""
    queue_s: Histogram | None = None
    """Time of each request until it was first scheduled; loads and pulls are part of it."""
    itl_s: Histogram | None = None
    """Time from each token of an answer to the next, in the engine."""
    pull_s: Histogram | None = None
    """Time of each read from a prefill worker."""


@dataclass(frozen=True, slots=True)
class MeasuredWorker:
    """One engine."""

    name: str
    """Its files' target; of an engine without files a number."""
    worker_id: int | None
    """Dynamo's id: decimal in the router's log, hexadecimal in the engine's metrics."""
    pool: Pool
    counters: Counters | None
    """None without its metrics."""
    block_tokens: int | None
    """Tokens of one KV block."""
    kv_blocks: int | None
    """Blocks of its pool, the null block included."""
    config: Mapping[str, str] = field(default_factory=dict)
    """What `vllm:cache_config_info` says of its cache; a label that takes several values is left out."""

    @property
    def is_hybrid(self) -> bool | None:
        """Whether its model keeps recurrent states beside the KV cache; None if it does not say."""
        mode = self.config.get("mamba_cache_mode")
        return None if mode is None else mode != "none"


def is_engine(window: Window) -> bool:
    """Whether a process counts prompt tokens as vLLM does: Dynamo's frontend and its mocker do not."""
    return window.last.has("vllm:prompt_tokens")


def find_workers(
    windows: Mapping[str, Window], decisions: Sequence[LoggedDecision], targets: Collection[str] = ()
) -> list[MeasuredWorker]:
    """Return the engines that have metrics, by their targets, and then those that only the router names.

    Nothing tells whether one of the latter is one of the other `targets` that files are of.
    """
    engines = {name: window for name, window in windows.items() if is_engine(window)}
    prefill = {name for name, window in engines.items() if "prefill" in _components(window)}
    disaggregated = bool(prefill) or any(decision.stage == "prefill" for decision in decisions)
    found = []
    for name, window in engines.items():
        pool: Pool = "prefill" if name in prefill else "decode" if disaggregated else "aggregated"
        found.append(_with_metrics(name, window, pool))
    pools = _pools(decisions)
    known = {worker.worker_id for worker in found}
    taken = {*targets, *(worker.name for worker in found)}
    names = (name for number in count() if (name := f"worker{number}") not in taken)
    for worker_id, pool in pools.items():
        if worker_id not in known:
            found.append(MeasuredWorker(next(names), worker_id, pool, None, None, None))
    return found


def _with_metrics(name: str, window: Window, pool: Pool) -> MeasuredWorker:
    by_source = {source: window.increase(_BY_SOURCE, source=source) for source in SOURCES}
    ids = window.last.label(_UPTIME, "worker_id")
    config = _config(window)
    return MeasuredWorker(
        name,
        int(ids[0], 16) if len(ids) == 1 and re.fullmatch("[0-9a-f]+", ids[0]) else None,
        pool,
        Counters(
            None
            if by_source[SOURCES[0]] is None
            else {source: round(tokens or 0) for source, tokens in by_source.items()},
            cached_by_source=_cached_by_source(window),
            **{key: _whole(window.increase(name)) for key, name in _COUNTERS.items()},
            queue_s=window.histogram(DURATIONS["queue_s"]),
            itl_s=window.histogram(DURATIONS["itl_s"]),
            pull_s=window.histogram(DURATIONS["pull_s"]),
        ),
        _whole_number(config.get("block_size")),
        _whole_number(config.get("num_gpu_blocks")),
        config,
    )


def _cached_by_source(window: Window) -> dict[str, int] | None:
    sources = window.last.label(_CACHED_BY_SOURCE, "source")
    found = {source: window.increase(_CACHED_BY_SOURCE, source=source) for source in sources}
    return {source: round(tokens or 0) for source, tokens in found.items()} or None


def _components(window: Window) -> list[str]:
    return window.last.label("dynamo_component_requests_total", "dynamo_component")


def _config(window: Window) -> dict[str, str]:
    names = {name for labels in window.last.samples.get(_CONFIG, ()) for name, _ in labels}
    values = {name: window.last.label(_CONFIG, name) for name in sorted(names)}
    return {name: found[0] for name, found in values.items() if len(found) == 1}


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _pools(decisions: Iterable[LoggedDecision]) -> dict[int, Pool]:
    """Return the pool of every worker that was ever a candidate, in ascending order of ids."""
    found: dict[int, Pool] = {}
    for decision in decisions:
        pool: Pool = "decode" if decision.stage == "peek" else decision.stage
        for worker_id in (decision.worker_id, *(c.worker_id for c in decision.candidates)):
            # A worker of a disaggregated cluster may also serve whole requests.
            if pool != "aggregated" or worker_id not in found:
                found[worker_id] = pool
    return dict(sorted(found.items()))
