"""The latencies of one request, as `vllm bench serve` of vLLM 0.28.0 defines them."""

from typing import NamedTuple


class Latency(NamedTuple):
    """The durations of one request, in seconds; None where an end is missing."""

    ttft_s: float | None
    tpot_s: float | None
    e2e_s: float | None
    queue_s: float | None


def latency(
    send_s: float,
    queued_s: float | None,
    first_scheduled_s: float | None,
    first_token_s: float | None,
    end_s: float | None,
    *,
    output_tokens: int,
) -> Latency:
    """Return a request's latencies from its times; `end_s` is None unless it completed.

    TPOT = (E2E - TTFT) / (output tokens - 1), undefined below two tokens.
    """
    tpot_s = None
    if end_s is not None and first_token_s is not None and output_tokens > 1:
        tpot_s = (end_s - first_token_s) / (output_tokens - 1)
    return Latency(
        _difference(first_token_s, send_s),
        tpot_s,
        _difference(end_s, send_s),
        _difference(first_scheduled_s, queued_s),
    )


def _difference(end_s: float | None, start_s: float | None) -> float | None:
    return None if end_s is None or start_s is None else end_s - start_s
