"""What a router credited at the start of a run that no request of the run can have left behind.

vLLM 0.28.0 tells of a reset of its cache with its next step: a router that is started in between takes blocks
of the run before for cached. The index of a replay is empty at the start.
"""

from collections.abc import Iterable

from sim.kv.prefix import PrefixTable
from sim.measured.request import MeasuredRequest
from sim.workload.request import Trace


def stale_tokens(requests: Iterable[MeasuredRequest], trace: Trace, block_tokens: int) -> dict[int, int]:
    """Return by index the tokens credited beyond what earlier prompts have in common with a request's."""
    table = PrefixTable(trace.chunk_tokens, block_tokens)
    found = {}
    for request, sent in zip(requests, trace.requests, strict=True):
        required = table.add(sent.chunks, sent.prompt_tokens).required_tokens
        credited = (request.prefill.overlap_blocks or 0) * block_tokens if request.prefill else 0
        stale = credited - (sent.prompt_tokens - required)
        if stale > 0:
            found[sent.index] = stale
    return found
