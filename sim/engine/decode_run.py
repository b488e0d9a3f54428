"""Runs of decode steps, found without carrying them out.

In most steps every running request computes one token and nothing is admitted. `decode_run` says how many of
them follow; `commit` carries them out at once, with the state that stepping through them would leave, to the
last bit. The blocks that they need on the way, `allocate` can take before, for those who look at the pool.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.kv.groups import blocks_for


@dataclass(slots=True)
class DecodeRun:
    """`steps` pairs of (process the oldest output, plan the next step), one token for every request each."""

    requests: list[ActiveRequest]
    context_tokens: int
    """Context of the first step planned, over all requests; each later step adds one token a request."""
    steps: int
    allocated: int = 0
    """Pairs whose blocks have been allocated already."""
    next_allocation: int = 0
    """The first pair after those that needs a block; beyond the run if none does."""


def decode_run(engine: Engine) -> DecodeRun | None:
    """Return the run that starts now, right after a `schedule`, or None. Changes nothing.

    The last step planned must have been steady: a waiting request that was passed over in it is passed over
    in every step of the run (blocks only get fewer), a store that found no room finds none, and such retries
    leave no trace but in counters. Nothing may follow with a delay from those planned before it, such as a
    state that goes back to the pool.
    """
    running = engine.scheduler.running
    if not running or len(engine.steps) < engine.max_steps or not engine.steps[-1].steady:
        return None
    steady = engine.steady
    for plan in engine.steps:
        if not steady.only_decodes(plan):
            return None
    longest = engine.max_model_len - 1
    steps, context = longest, 0
    for request in running:
        if not request.outputs:
            return None  # its first token is news to the router
        left = request.output_tokens - request.outputs - request.placeholders
        steps = min(steps, left, longest - request.computed)
        context += request.computed
    run = DecodeRun(running, context, steps)
    run.next_allocation = _next_allocation(engine, run)
    if not engine.steady.across_blocks:
        run.steps = min(steps, *(_within_block(engine, request) for request in running))
    elif run.next_allocation < steps:
        run.steps = _steps_with_room(engine, run)
    return run if run.steps > 0 else None


def _within_block(engine: Engine, request: ActiveRequest) -> int:
    """Steps until the request's last block, of any group, is full of known tokens.

    No more than two steps are in flight, so that it takes no block before that either. A window must not
    leave a block meanwhile.
    """
    cache, tables = engine.cache, request.tables
    last = tables[cache.attention_group]
    steps = last.length * cache.specs[cache.attention_group].block_tokens - 1 - request.num_tokens
    if cache.windows:
        steps = min(
            steps, cache.still_tokens(tables, request.num_tokens, request.computed - request.in_flight)
        )
    return steps


def _next_allocation(engine: Engine, run: DecodeRun) -> int:
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    return min([request.tables[group].length * size - request.computed for request in run.requests])


def _steps_with_room(engine: Engine, run: DecodeRun) -> int:
    """Return the steps before the one that finds no block: it preempts, and is not of this run."""
    free = engine.cache.pool.free_blocks
    if _blocks_allocated(engine, run, run.steps) <= free:
        return run.steps
    return bisect_left(
        range(1, run.steps + 1), free + 1, key=lambda pairs: _blocks_allocated(engine, run, pairs)
    )


def _blocks_allocated(engine: Engine, run: DecodeRun, pairs: int) -> int:
    """Blocks that the first so many pairs need from the pool."""
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    return sum(
        [
            max(0, blocks_for(request.computed + pairs, size) - request.tables[group].length)
            for request in run.requests
        ]
    )


def allocations(engine: Engine, run: DecodeRun, pairs: int) -> list[tuple[int, int]]:
    """Return (pair, blocks) of every pair before `pairs` that needs blocks and has not been given them."""
    if run.next_allocation >= pairs:
        return []
    group, size = engine.cache.attention_group, engine.cache.block_tokens
    needed: dict[int, int] = {}
    for request in run.requests:
        for pair in range(request.tables[group].length * size - request.computed, pairs, size):
            needed[pair] = needed.get(pair, 0) + 1
    return sorted(needed.items())


def allocate(engine: Engine, run: DecodeRun, pairs: int) -> None:
    """Give the first `pairs` pairs their blocks, as far as that has not been done."""
    run.allocated = pairs
    if run.next_allocation < pairs:
        for request in run.requests:
            engine.cache.extend(request.tables, request.computed + pairs)
        run.next_allocation = _next_allocation(engine, run)


def commit(engine: Engine, run: DecodeRun, steps: int) -> None:
    """Carry out the first `steps` pairs of a run, at least those that were given their blocks."""
    allocate(engine, run, steps)
    engine.scheduler.decoded(steps)
    for request in run.requests:
        request.outputs += steps
        request.computed += steps
        engine.cache.register(request.tables, request.block_ids, request.num_tokens)
    if engine.offload is not None:
        engine.offload.stores.failed += steps * engine.failed_stores


def output_times(in_flight_s: Sequence[float], steps_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when the output of each step is processed: of those in flight, then of those of a run.

    Args:
        in_flight_s: when each step in flight has been computed, in seconds.
        steps_s: how long each step of the run takes, one after another behind them.

    """
    in_flight = len(in_flight_s)
    ends_s = np.empty(in_flight + len(steps_s))
    for place, end_s in enumerate(in_flight_s):
        ends_s[place] = end_s
    ends_s[in_flight:] = steps_s
    # The sum starts from the time itself, as a loop over the steps would: equal to the last bit.
    summed = ends_s[in_flight - 1 :]
    np.add.accumulate(summed, out=summed)
    return ends_s
