"""Where a chunk of a hybrid model's prefill ends (vLLM's "align" mode)."""

from sim.engine.active import ActiveRequest
from sim.engine.rules.chunk_stops import ChunkStops


def chunk_tokens(
    request: ActiveRequest,
    start: int,
    tokens: int,
    stops: ChunkStops,
    most_tokens: int,
) -> int:
    """Return how many of the `tokens` on offer from `start` on are computed, so that checkpoints come about.

    A state is findable at a block boundary where a chunk ended. Wanted are the last boundary that `stops`
    names, the next one if the start is on none, and the end of a cached attention run. `most_tokens` is the
    most that a step could give: a block larger than that cannot be computed in one.
    """
    prefill_end = request.prefill_end
    if start >= prefill_end:
        return tokens
    end, block_tokens = start + tokens, stops.block_tokens
    wanted = [] if stops.saved_inside(start, end, prefill_end) else [stops.last(request.num_tokens)]
    if end < prefill_end:
        rounded = end // block_tokens * block_tokens
        if rounded > start or block_tokens <= most_tokens:
            end = rounded
    if start % block_tokens:
        wanted.append((start // block_tokens + 1) * block_tokens)
    boundary = request.boundary_tokens
    if start < boundary < end:
        wanted.append(start + (boundary - start) // block_tokens * block_tokens)
    end = min([stop for stop in wanted if start < stop < end], default=end)
    return max(end - start, 0)
