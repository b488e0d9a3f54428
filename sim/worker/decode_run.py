"""Runs of decode steps that change nothing but counters, found without carrying them out.

In most steps every running request computes one token, nothing is admitted, and no block is taken, freed or
registered. Such steps can be skipped over: `decode_run` says how many follow, `commit` carries them out at
once, with the state that stepping through them would leave, to the last bit.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.kv.hybrid import KvCache
from sim.worker.active import ActiveRequest
from sim.worker.engine import Engine


@dataclass(slots=True)
class DecodeRun:
    """`steps` pairs of (process the oldest output, plan the next step) in which only counters move."""

    requests: list[ActiveRequest]
    context_tokens: int
    """Context of the first step planned, over all requests; each later step adds one token a request."""
    steps: int


def decode_run(engine: Engine) -> DecodeRun | None:
    """Return the run that starts now, right after a `schedule`, or None. Changes nothing.

    All steps in flight must have been quiet themselves. Then whatever follows from an earlier one with a
    delay (a token processed, a state that goes back to the pool) is over; a waiting request that was passed
    over in the last one is passed over in every step of the run, a store that found no room finds none, and
    such retries leave no trace but in counters.
    """
    running = engine.scheduler.running
    if len(engine.steps) < engine.max_steps or not running or not all(plan.quiet for plan in engine.steps):
        return None
    longest = engine.limits.max_model_len - 1
    steps = min(min(_quiet_steps(engine.cache, request), longest - request.computed) for request in running)
    if steps < 1:
        return None
    return DecodeRun(running, sum(request.computed for request in running), steps)


def _quiet_steps(cache: KvCache, request: ActiveRequest) -> int:
    """Steps that this request can be planned for before it ends, or its last block is full of known tokens.

    No more than two steps are in flight, so that it takes no block before that either. Both are normal steps:
    they make KV events, and the router may count blocks of generated tokens.
    """
    if not request.outputs:
        return 0  # its first token is news to the router
    boundary = request.tables[cache.attention_group].length * cache.block_tokens
    return min(
        request.output_tokens - request.outputs - request.placeholders,
        boundary - 1 - request.num_tokens,
    )


def commit(engine: Engine, run: DecodeRun, steps: int) -> None:
    """Carry out the first `steps` pairs of a run."""
    for request in run.requests:
        request.outputs += steps
        request.computed += steps
    if engine.offload is not None:
        engine.offload.failed_stores += steps * engine.failed_stores


def output_times(in_flight_s: Iterable[float], steps_s: ArrayLike) -> NDArray[np.float64]:
    """Return when the output of each step is processed: of those in flight, then of those of a run.

    Args:
        in_flight_s: when each step in flight has been computed, in seconds.
        steps_s: how long each step of the run takes, one after another behind them.

    """
    *earlier_s, last_s = in_flight_s
    # The sum starts from the time itself, as a loop over the steps would: equal to the last bit.
    return np.concatenate((earlier_s, np.cumsum(np.concatenate(([last_s], steps_s)))))
