"""Runs of decode steps, found without carrying them out.

In most steps every running request computes one token and nothing is admitted. `decode_run` says how many of
them follow; `commit` carries them out at once, with the state that stepping through them would leave, to the
last bit. What they take from the pool on the way, `settle` can carry out before, for those who look at it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.kv.groups import blocks_for
from sim.worker.active import ActiveRequest
from sim.worker.engine import Engine


@dataclass(slots=True)
class DecodeRun:
    """`steps` pairs of (process the oldest output, plan the next step), one token for every request each."""

    requests: list[ActiveRequest]
    context_tokens: int
    """Context of the first step planned, over all requests; each later step adds one token a request."""
    steps: int
    settled: int = 0
    """Pairs whose blocks have been taken already."""


def decode_run(engine: Engine) -> DecodeRun | None:
    """Return the run that starts now, right after a `schedule`, or None. Changes nothing.

    All steps in flight must have been quiet themselves. Then whatever follows from an earlier one with a
    delay (a token processed, a state that goes back to the pool) is over; a waiting request that was passed
    over in the last one is passed over in every step of the run (blocks only get fewer), a store that found
    no room finds none, and such retries leave no trace but in counters.
    """
    running = engine.scheduler.running
    if not running or len(engine.steps) < engine.max_steps:
        return None
    for plan in engine.steps:
        if not plan.quiet:
            return None
    longest = engine.limits.max_model_len - 1
    steps = longest
    for request in running:
        if not request.outputs:
            return None  # its first token is news to the router
        most = min(request.output_tokens - request.outputs - request.placeholders, longest - request.computed)
        steps = min(steps, most if engine.grows_quietly else min(most, _within_block(engine, request)))
        if steps < 1:
            return None
    run = DecodeRun(running, sum([request.computed for request in running]), steps)
    free = engine.cache.pool.free_blocks
    if engine.grows_quietly and _blocks_taken(engine, run, steps) > free:
        # The pair that finds no block preempts: not a step of this run.
        run.steps = bisect_left(
            range(steps), free + 1, key=lambda pairs: _blocks_taken(engine, run, pairs + 1)
        )
    return run if run.steps else None


def _within_block(engine: Engine, request: ActiveRequest) -> int:
    """Steps until the request's last block is full of known tokens.

    No more than two steps are in flight, so that it takes no block before that either.
    """
    length = request.tables[engine.cache.attention_group].length
    return length * engine.cache.block_tokens - 1 - request.num_tokens


def _blocks_taken(engine: Engine, run: DecodeRun, pairs: int) -> int:
    """Blocks that the first so many pairs take from the pool."""
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    return sum(
        [
            max(0, blocks_for(request.computed + pairs, size) - request.tables[group].length)
            for request in run.requests
        ]
    )


def next_taking(engine: Engine, run: DecodeRun) -> int:
    """Return the first pair, of those not settled, that takes a block; `run.steps` if none does."""
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    first = run.steps
    for request in run.requests:
        first = min(first, request.tables[group].length * size - request.computed)
    return first


def takings(engine: Engine, run: DecodeRun, pairs: int) -> list[tuple[int, int]]:
    """Return (pair, blocks) of every pair, of those not settled and before `pairs`, that takes blocks."""
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    taken: dict[int, int] = {}
    for request in run.requests:
        for pair in range(request.tables[group].length * size - request.computed, pairs, size):
            taken[pair] = taken.get(pair, 0) + 1
    return sorted(taken.items())


def settle(engine: Engine, run: DecodeRun, pairs: int) -> None:
    """Take the blocks of the first `pairs` pairs, as far as that has not been done."""
    for request in run.requests:
        engine.cache.extend(request.tables, request.computed + pairs)
    run.settled = pairs


def commit(engine: Engine, run: DecodeRun, steps: int) -> None:
    """Carry out the first `steps` pairs of a run, at least those that were settled."""
    settle(engine, run, steps)
    for request in run.requests:
        request.outputs += steps
        request.computed += steps
        engine.cache.register(request.tables, request.hashes, request.num_tokens)
    if engine.offload is not None:
        engine.offload.failed_stores += steps * engine.failed_stores


def output_times(in_flight_s: Sequence[float], steps_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when the output of each step is processed: of those in flight, then of those of a run.

    Args:
        in_flight_s: when each step in flight has been computed, in seconds.
        steps_s: how long each step of the run takes, one after another behind them.

    """
    in_flight = len(in_flight_s)
    ends_s = np.empty(in_flight + len(steps_s))
    ends_s[:in_flight] = in_flight_s
    ends_s[in_flight:] = steps_s
    # The sum starts from the time itself, as a loop over the steps would: equal to the last bit.
    np.cumsum(ends_s[in_flight - 1 :], out=ends_s[in_flight - 1 :])
    return ends_s
