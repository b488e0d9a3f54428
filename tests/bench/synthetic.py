"""Traces in Mooncake's format of any length: conversations much like those of Mooncake's trace."""

import json
from collections.abc import Iterator
from math import exp
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

CHUNK_TOKENS = 512
REQUESTS_PER_S = 0.4
"""For each worker: as Mooncake's trace on eight, where few requests run at a time."""
CONVERSATIONS = 2000
"""Open at a time; a request is the next turn of any one of them, or the first of one in its place."""
GOES_ON = 3 / 8
"""Probability that a turn has a next one."""
FIRST_TOKENS, NEXT_TOKENS, OUTPUT_TOKENS = 10_000, 2_400, 350
"""Means of what a first and a later turn add to the prompt, and of answers; all are log-normal,"""
SIGMA = 1.1
"""with this shape,"""
LONGEST_TOKENS = 100_000
"""and cut to this."""


class _Conversation(NamedTuple):
    tokens: int
    """Of the last prompt and its answer."""
    chunks: list[int]
    """The full ones of that prompt."""


def write_trace(path: Path, requests: int, requests_per_s: float, seed: int) -> None:
    """Write a trace row by row. Equal arguments give equal bytes; the rate changes nothing but timestamps."""
    with path.open("w", encoding="utf-8") as file:
        for row in rows(requests, requests_per_s, seed):
            file.write(json.dumps(row) + "\n")


def rows(requests: int, requests_per_s: float, seed: int) -> Iterator[dict[str, Any]]:
    """Yield rows in the order of their timestamps (ms), a Poisson process. All prompts start with chunk 0."""
    random = Random(seed)
    new = _Conversation(0, [0])
    conversations = [new] * CONVERSATIONS
    at_s, next_chunk = 0.0, 1
    for _ in range(requests):
        at_s += random.expovariate(1.0) / requests_per_s
        place = random.randrange(CONVERSATIONS)
        before = conversations[place]
        added = _tokens(random, NEXT_TOKENS if before.tokens else FIRST_TOKENS)
        prompt, output = min(before.tokens + added, LONGEST_TOKENS), _tokens(random, OUTPUT_TOKENS)
        missing = -(-prompt // CHUNK_TOKENS) - len(before.chunks)
        chunks = [*before.chunks, *range(next_chunk, next_chunk + missing)]
        next_chunk += missing
        yield {
            "timestamp": round(1000 * at_s),
            "input_length": prompt,
            "output_length": output,
            "hash_ids": chunks,
        }
        goes_on = random.random() < GOES_ON and prompt + output < LONGEST_TOKENS
        full = chunks[: max(1, prompt // CHUNK_TOKENS)]
        conversations[place] = _Conversation(prompt + output, full) if goes_on else new


def _tokens(random: Random, mean: int) -> int:
    return 1 + min(round(mean * exp(SIGMA * random.gauss() - SIGMA**2 / 2)), LONGEST_TOKENS)
