"""Where a chunk of a hybrid model's prefill ends (vLLM 0.28.0, "align" mode)."""

from sim.engine.active import ActiveRequest


def chunk_tokens(
    request: ActiveRequest,
    start: int,
    tokens: int,
    block_tokens: int,
    most_tokens: int,
    *,
    early: bool = False,
) -> int:
    """Return how many of the `tokens` on offer from `start` on are computed, so that checkpoints come about.

    A state is findable only at a block boundary where a chunk ended. Wanted are the last boundary of the
    prompt, the next one if the start is on none, and the end of a cached attention run. `most_tokens` is the
    most that a step could give: a block larger than that cannot be computed in one. `early`: the last wanted
    boundary lies a block before, because attention loses the last block of its hits (EAGLE, MTP).
    """
    num_tokens = request.num_tokens
    prefill_end = max(request.prompt_tokens, num_tokens - 1)
    if start >= prefill_end:
        return tokens
    end = start + tokens
    if end < prefill_end:
        rounded = end // block_tokens * block_tokens
        if rounded > start or block_tokens <= most_tokens:
            end = rounded
    last = num_tokens - num_tokens % block_tokens
    stops = [max(last - block_tokens, 0) if early else last]
    if start % block_tokens:
        stops.append((start // block_tokens + 1) * block_tokens)
    boundary = request.boundary_tokens
    if start < boundary < end:
        stops.append(start + (boundary - start) // block_tokens * block_tokens)
    end = min([stop for stop in stops if start < stop < end], default=end)
    return max(end - start, 0)
