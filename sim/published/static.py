"""Rows that need no run: memory, the router's formula on the slide's example, medians of the workload.

All of it is what runs use: the capacity of the shipped scenario, the router's cost, the generator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np

from sim.hardware.capacity import Capacity
from sim.published.targets import Target
from sim.router.cost import CostTerms, Known, Weights, cost_columns
from sim.scenario.scenario import load_scenario
from sim.workload.conversation import Conversation
from sim.workload.profiles import PROFILES

SESSIONS = 53
"""Of the talk's recording."""
DRAWS = 20
"""So many sets of 53 generated sessions make its medians: one set's vary by a tenth."""

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30
_BLOCK = 16
"""Tokens of a block in the slide's example; any number gives the same costs."""


@dataclass(frozen=True, slots=True)
class StaticScore:
    """What the simulator says of a row that needs no run."""

    target: Target
    value: float | None
    """In the row's unit; None for a number that is not known here."""
    interval: tuple[float, float] | None
    """Least and greatest of single sets of sessions, where it is of generated ones."""

    @property
    def holds(self) -> bool:
        """Whether it is in the row's band."""
        return self.value is not None and self.target.band.holds(self.value)


def score_static(target: Target) -> StaticScore:
    """Return the score of a static row."""
    if target.metric in _MEMORY:
        return StaticScore(target, _MEMORY[target.metric](_capacity()), None)
    if target.metric in _WORKERS:
        return StaticScore(target, _example_cost(_WORKERS[target.metric]), None)
    if target.metric in _MEDIANS:
        of_all, of_sets = _MEDIANS[target.metric](generated_medians())
        return StaticScore(target, of_all, (min(of_sets), max(of_sets)))
    return StaticScore(target, None, None)


@cache
def _capacity() -> Capacity:
    return load_scenario("agg8").capacity()


def _session_bytes(found: Capacity) -> float:
    model = found.model
    return found.session.tokens * model.kv_bytes_per_token + model.state_bytes_per_sequence


_MEMORY: dict[str, Callable[[Capacity], float]] = {
    "weights_computed": lambda found: found.model.weights_computed_bytes / _GIB,
    "kv_pool": lambda found: found.pool_bytes / _GIB,
    "kv_blocks": lambda found: found.num_blocks,
    "kv_bytes_per_token": lambda found: found.model.kv_bytes_per_token / _KIB,
    "ssm_state_per_sequence": lambda found: found.model.state_bytes_per_sequence / _MIB,
    "kv_per_213k_session": lambda found: _session_bytes(found) / _GIB,
    "sessions_per_gpu": lambda found: found.pool_bytes / _session_bytes(found),
}

_WORKERS = {"cost_worker_a": 0, "cost_worker_b": 1}


def _example_cost(worker: int) -> float:
    """Return a worker's cost on the slide: a prompt of 100 blocks; A has 70 of them, 20 to prefill and 15
    active; B has 20 of them, none to prefill and 8 active; 5 and 2 more blocks become active there."""
    weights = Weights(
        overlap_score_credit=1.0,
        overlap_score_credit_decay=0.0,
        prefill_load_scale=1.0,
        host_cache_hit_weight=0.75,
        disk_cache_hit_weight=0.25,
        decode_active_request_weight=0.0,
        track_prefill_tokens=True,
    )
    known = Known(
        prefill_tokens=np.array([20 * _BLOCK, 0]),
        active_blocks=np.array([15, 8]),
        requests=np.array([1, 1]),
        new_blocks=np.array([5, 2]),
        device=np.array([70, 20]),
        host=0,
        disk=0,
        taint_factor=1.0,
    )
    columns = dict(
        zip(CostTerms._fields[1:], cost_columns(weights, 100 * _BLOCK, _BLOCK, known), strict=True)
    )
    return float(np.broadcast_to(columns["cost"], 2)[worker])


Medians = tuple[float, list[float]]
"""Of all sets of sessions together, and of each."""


@cache
def generated_medians() -> tuple[Medians, Medians]:
    """Return the medians of prompts and of new tokens a turn, of whole sessions of profile "talk"."""
    prompts, new = zip(*(_lengths(seed) for seed in range(DRAWS)), strict=True)
    return _medians(prompts), _medians(new)


_MEDIANS: dict[str, Callable[[tuple[Medians, Medians]], Medians]] = {
    "context_resent_p50": lambda medians: medians[0],
    "new_tokens_per_turn_p50": lambda medians: medians[1],
}


def _lengths(seed: int) -> tuple[list[int], list[int]]:
    prompts, new = [], []
    for session in range(SESSIONS):
        for number, turn in enumerate(Conversation(PROFILES["talk"], seed, session).turns()):
            prompts.append(turn.prompt_tokens)
            if number:
                new.append(turn.prompt_tokens - turn.kept_tokens)
    return prompts, new


def _medians(sets: tuple[list[int], ...]) -> Medians:
    return median(tokens for found in sets for tokens in found), [median(found) for found in sets]
