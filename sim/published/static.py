"""Rows that need no run: memory, the router's formula on an example, medians of the generated sessions.

All of it is what runs use: the capacity of a scenario, the router's cost, the generator.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, PositiveInt

from sim.base.bounds import CountOrZero
from sim.base.known_name import KnownName
from sim.base.settings import Settings
from sim.base.units import SIZE
from sim.hardware.capacity import Capacity
from sim.hardware.runtime_memory import ACCOUNTS, RELEASE
from sim.published.targets import Target
from sim.router.config import RouterConfig
from sim.router.cost import CostTerms, Weights, WorkerState, cost_columns
from sim.scenario.scenario import Scenario
from sim.workload.agent import ProfileName
from sim.workload.conversation import Conversation
from sim.workload.profiles import profile_named

_BLOCK = 16
"""Tokens of a block of an example; any number gives the same costs."""

MemoryNumber = Literal[
    "weights", "pool", "pool_blocks", "pool_tokens", "token", "state", "session", "sessions"
]
OF_ANY = ("weights", "pool", "pool_blocks", "pool_tokens", "token", "state")
"""Those that need nothing but a configuration: metrics of static rows that name one."""


class Memory(Settings):
    """Metrics of one worker's memory."""

    configuration: str
    session_tokens: PositiveInt
    """Of a session that is counted."""
    metrics: Mapping[str, MemoryNumber]
    """Bytes, in the row's unit: of the weights as they are computed with, the KV pool, KV of one token,
    recurrent state of one sequence, KV and state of one session. Numbers: the pool's blocks, the tokens in
    them, and sessions that it has room for."""

    def value(self, metric: str, scenario: Scenario, release: str) -> float:
        """Return a metric's value, as a release of vLLM counts."""
        return memory_number(self.metrics[metric], scenario, self.session_tokens, release=release)


def memory_number(
    number: str, scenario: Scenario, session_tokens: int = 1, *, release: str = RELEASE
) -> float:
    """Return one of `MemoryNumber` of a scenario's workers, with a session of so many tokens.

    `release` is that of vLLM whose way of counting working memory applies.
    """
    found = scenario.capacity(release)
    session = session_tokens * found.model.kv_bytes_per_token + found.model.state_bytes_per_sequence
    values: dict[str, Callable[[Capacity], float]] = {
        "weights": lambda found: found.model.weights_computed_bytes,
        "pool": lambda found: found.pool_bytes,
        "pool_blocks": lambda found: found.num_blocks,
        "pool_tokens": lambda found: found.num_blocks * found.block_tokens,
        "token": lambda found: found.model.kv_bytes_per_token,
        "state": lambda found: found.model.state_bytes_per_sequence,
        "session": lambda found: session,
        "sessions": lambda found: found.pool_bytes / session,
    }
    return values[number](found)


class Candidate(Settings):
    """A worker of an example of the router's cost, and the prompt; all in blocks."""

    prompt: PositiveInt
    cached: CountOrZero
    """Of the prompt, in its GPU's memory."""
    prefill: CountOrZero
    """Booked there."""
    active: CountOrZero
    """Of running requests."""
    new: CountOrZero
    """That become active with the prompt."""


class Routing(Settings):
    """Metrics that are costs of the router."""

    configuration: str
    """Whose router's weights are taken."""
    metrics: Mapping[str, Candidate]

    def value(self, metric: str, scenario: Scenario) -> float:
        """Return a candidate's cost, in blocks."""
        one = self.metrics[metric]
        known = WorkerState(
            prefill_tokens=np.array([one.prefill * _BLOCK]),
            active_blocks=np.array([one.active]),
            requests=np.array([1]),
            new_blocks=np.array([one.new]),
            device=np.array([one.cached]),
            host=0,
            disk=0,
            taint_factor=1.0,
        )
        columns = cost_columns(_weights(scenario.router), one.prompt * _BLOCK, _BLOCK, known)
        cost = dict(zip(CostTerms._fields[1:], columns, strict=True))["cost"]
        return float(np.broadcast_to(cost, 1)[0])


def _weights(config: RouterConfig) -> Weights:
    return Weights(
        overlap_score_credit=config.overlap_score_credit,
        overlap_score_credit_decay=config.overlap_score_credit_decay,
        prefill_load_scale=config.prefill_load_scale,
        host_cache_hit_weight=config.host_cache_hit_weight,
        disk_cache_hit_weight=config.disk_cache_hit_weight,
        decode_active_request_weight=config.decode_active_request_weight,
        track_prefill_tokens=config.track_prefill_tokens,
    )


class Sessions(Settings):
    """Metrics that are medians of whole generated sessions."""

    profile: ProfileName
    sessions: int = Field(ge=10, le=1000)
    """Of one set."""
    sets: int = Field(gt=0, le=1000)
    """From seed 0 on."""
    metrics: Mapping[str, Literal["prompt_tokens", "new_tokens"]]
    """Of each turn: its prompt, or what is new in it, but for the first turns."""

    def medians(self, metric: str) -> "Medians":
        """Return a metric's medians."""
        prompts, new = _generated(self.profile, self.sessions, self.sets)
        return prompts if self.metrics[metric] == "prompt_tokens" else new


class StaticSettings(Settings):
    """What the metrics of static rows are."""

    vllm: Annotated[str, KnownName(lambda: [*ACCOUNTS])] = RELEASE
    """Release whose way of counting working memory applies to them; runs are of the usual one."""
    memory: Memory | None = None
    routing: Routing | None = None
    sessions: Sessions | None = None

    @property
    def parts(self) -> Iterator[Memory | Routing | Sessions]:
        """Those that are there."""
        return (part for part in (self.memory, self.routing, self.sessions) if part is not None)

    @property
    def metrics(self) -> list[str]:
        """The names of all metrics."""
        return [name for part in self.parts for name in part.metrics]


@dataclass(frozen=True, slots=True)
class StaticScore:
    """What the simulator says of a row that needs no run."""

    target: Target
    value: float
    """In the row's unit."""
    interval: tuple[float, float] | None
    """Least and greatest of single sets of sessions, where it is of generated ones."""

    @property
    def holds(self) -> bool:
        """Whether it is in the row's band."""
        return self.target.band.holds(self.value)


def score_static(
    target: Target, settings: StaticSettings, scenario_of: Callable[[str], Scenario]
) -> StaticScore:
    """Return the score of a static row, one of whose metrics it has.

    Args:
        target: the row.
        settings: what its metric is, unless a printed number is of a configuration.
        scenario_of: returns the scenario of a configuration.

    """
    if target.memory_of:
        value = memory_number(target.metric, scenario_of(target.memory_of), release=settings.vllm)
        return StaticScore(target, _in_unit(value, target.unit), None)
    part = next(part for part in settings.parts if target.metric in part.metrics)
    if isinstance(part, Sessions):
        of_all, of_sets = part.medians(target.metric)
        return StaticScore(target, of_all, (min(of_sets), max(of_sets)))
    scenario = scenario_of(part.configuration)
    if isinstance(part, Memory):
        value = part.value(target.metric, scenario, settings.vllm)
    else:
        value = part.value(target.metric, scenario)
    return StaticScore(target, _in_unit(value, target.unit), None)


def _in_unit(value: float, unit: str) -> float:
    size = SIZE.units.get(unit)
    return value / float(size) if size else value


Medians = tuple[float, list[float]]
"""Of all sets of sessions together, and of each."""


@cache
def _generated(profile: ProfileName, sessions: int, sets: int) -> tuple[Medians, Medians]:
    """Return the medians of prompts and of new tokens a turn."""
    prompts, new = zip(*(_lengths(profile, sessions, seed) for seed in range(sets)), strict=True)
    return _medians(prompts), _medians(new)


def _lengths(profile: ProfileName, sessions: int, seed: int) -> tuple[list[int], list[int]]:
    prompts, new = [], []
    for session in range(sessions):
        for number, turn in enumerate(Conversation(profile_named(profile), seed, session).turns()):
            prompts.append(turn.prompt_tokens)
            if number:
                new.append(turn.prompt_tokens - turn.kept_tokens)
    return prompts, new


def _medians(sets: tuple[list[int], ...]) -> Medians:
    return median(tokens for found in sets for tokens in found), [median(found) for found in sets]
