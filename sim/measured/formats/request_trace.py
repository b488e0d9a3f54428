"""Dynamo's own trace of requests, schema `dynamo.request.trace.v1` (Dynamo 1.5.0; 1.4.2 has fewer keys).

Its cached tokens are what the *router* took to be cached when it chose; what the engine reused is not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.base.errors import InputError
from sim.measured.formats.records import Record, read_lines


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request that ended. Unix times in seconds; None where the file does not say."""

    request_id: str
    """The router's id, as in its log."""
    received_s: float
    end_s: float
    prompt_tokens: int | None
    output_tokens: int
    router_cached_tokens: int | None
    """The router's estimate at the time of its choice, tiers weighted."""
    prefill_wait_s: float | None
    """Duration: received to sent to the prefill worker."""
    prefill_s: float | None
    """Duration: from there to that worker's answer."""
    ttft_s: float | None
    """The sum of the two: not the client's of a disaggregated request, whose first token comes later."""
    kv_transfer_s: float | None
    """Duration, disaggregated: the router's estimate from there to the client's first token."""
    prefill_worker_id: int | None
    decode_worker_id: int | None
    block_tokens: int
    block_hashes: Sequence[int]
    """One for every block of the prompt: equal hashes are equal prefixes."""


class _Worker(Record):
    prefill_worker_id: int | None = None
    decode_worker_id: int | None = None


class _Replay(Record):
    trace_block_size: int
    input_length: int
    input_sequence_hashes: list[int]


class _Request(Record):
    request_id: str
    output_tokens: int
    request_received_ms: float
    input_tokens: int | None = None
    cached_tokens: int | None = None
    prefill_wait_time_ms: float | None = None
    prefill_time_ms: float | None = None
    ttft_ms: float | None = None
    kv_transfer_estimated_latency_ms: float | None = None
    worker: _Worker = _Worker()
    replay: _Replay


# "event" is named `schema`, which is a method of pydantic's models.
class _Event(Record):
    event_type: str
    event_time_unix_ms: float
    request: _Request | None = None


class _Line(Record):
    event: _Event


def read_request_trace(path: Path) -> list[TracedRequest]:
    """Return the requests of a trace, JSONL, in the order in which they ended; tool calls are left out.

    Raises:
        InputError: a line is not such an event.

    """
    found = []
    for number, line in read_lines(path, _Line):
        if line.event.event_type != "request_end":
            continue
        if line.event.request is None:
            raise InputError(f"{path}, line {number}: event.request is missing")
        found.append(_traced(line.event.request, line.event.event_time_unix_ms))
    return found


def _traced(request: _Request, end_ms: float) -> TracedRequest:
    return TracedRequest(
        request.request_id,
        request.request_received_ms / 1e3,
        end_ms / 1e3,
        request.replay.input_length if request.input_tokens is None else request.input_tokens,
        request.output_tokens,
        request.cached_tokens,
        _seconds(request.prefill_wait_time_ms),
        _seconds(request.prefill_time_ms),
        _seconds(request.ttft_ms),
        _seconds(request.kv_transfer_estimated_latency_ms),
        request.worker.prefill_worker_id,
        request.worker.decode_worker_id,
        request.replay.trace_block_size,
        request.replay.input_sequence_hashes,
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1e3
