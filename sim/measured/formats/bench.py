"""The result of `vllm bench serve` (vLLM 0.28.0): totals, and with `--save-detailed` every request.

Times of a request start when the client sends it, after its own semaphore: what it waited there is in none
of them. An answer's chunks are counted, not its tokens: `itl_s` holds the gaps between chunks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pydantic import ConfigDict, model_validator

from sim.base.errors import InputError
from sim.base.sums import added
from sim.measured.formats.records import Record, read_object

_LATENCIES = {"ttft": "ttft_s", "itl": "itl_s", "tpot": "tpot_s", "e2el": "e2e_s"}
_LISTS = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")


@dataclass(frozen=True)
class BenchRequest:
    """One request, as the client saw it; in the order of its input."""

    row: int
    """Place in the input, from 0: the trace's row."""
    prompt_tokens: int
    output_tokens: int
    start_s: float
    """When it was sent, on a clock of the client's own that starts anywhere."""
    ttft_s: float
    """Sent to first chunk; 0 of a failed request."""
    itl_s: tuple[float, ...]
    """Gaps between the chunks that followed."""
    error: str
    """Why it failed, "" if it did not."""

    @property
    def completed(self) -> bool:
        """Whether it was answered."""
        return not self.error

    @cached_property
    def e2e_s(self) -> float:
        """Sent to last chunk."""
        return self.ttft_s + added(self.itl_s)


@dataclass(frozen=True)
class Bench:
    """What one client measured."""

    model: str
    n_requests: int
    """As many as it was to send."""
    completed: int
    failed: int
    duration_s: float
    max_concurrency: int | None
    """Its limit on requests in flight; None: open loop."""
    prompt_tokens: int
    """Of completed requests, as the server counted them."""
    output_tokens: int
    latencies: Mapping[str, Mapping[str, float]]
    """By ttft_s, itl_s, tpot_s, e2e_s: mean and percentiles in seconds, as the file states them."""
    requests: tuple[BenchRequest, ...] | None
    """None without `--save-detailed`."""


class _File(Record):
    model_config = ConfigDict(extra="allow")

    model_id: str
    num_prompts: int
    completed: int
    failed: int = 0
    duration: float
    max_concurrency: int | None = None
    total_input_tokens: int
    total_output_tokens: int
    input_lens: list[int] | None = None
    output_lens: list[int] | None = None
    ttfts: list[float] | None = None
    itls: list[list[float]] | None = None
    start_times: list[float] | None = None
    errors: list[str] | None = None

    @model_validator(mode="after")
    def _same_lengths(self) -> Self:
        lengths = {name: len(found) for name in _LISTS if (found := getattr(self, name)) is not None}
        if lengths and (len(lengths) < len(_LISTS) or len({*lengths.values()}) > 1):
            shown = ", ".join(f"{name} {lengths.get(name, 'absent')}" for name in _LISTS)
            raise ValueError(f"the lists of --save-detailed differ in length: {shown}")
        return self


def read_bench(path: Path) -> Bench:
    """Return the result that `vllm bench serve --save-result` wrote, plain or gzipped.

    Raises:
        InputError: not such a file; names the key.

    """
    try:
        file = read_object(path, _File)
    except InputError as error:
        raise InputError(f"{error} (in a result of `vllm bench serve`)") from error
    return Bench(
        file.model_id,
        file.num_prompts,
        file.completed,
        file.failed,
        file.duration,
        file.max_concurrency,
        file.total_input_tokens,
        file.total_output_tokens,
        _latencies(file.model_extra or {}),
        _requests(file),
    )


def _latencies(keys: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return what keys such as p99_ttft_ms say, in seconds."""
    found: dict[str, dict[str, float]] = {}
    for key, value in keys.items():
        statistic, _, rest = key.partition("_")
        latency = _LATENCIES.get(rest.removesuffix("_ms"))
        if latency and rest.endswith("_ms") and isinstance(value, int | float):
            found.setdefault(latency, {})[statistic] = value / 1e3
    return found


def _requests(file: _File) -> tuple[BenchRequest, ...] | None:
    if file.start_times is None:
        return None
    columns: list[list[Any]] = [getattr(file, name) for name in _LISTS]
    return tuple(
        BenchRequest(row, prompt, output, start_s, ttft_s, tuple(itl_s), error)
        for row, (prompt, output, ttft_s, itl_s, start_s, error) in enumerate(zip(*columns, strict=True))
    )
