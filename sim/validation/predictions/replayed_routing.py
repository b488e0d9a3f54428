"""Forced routing: workers, times of sending and times of answers are recorded, only caching is predicted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim.validation.case import ValidationCase
from sim.validation.predictions import lru
from sim.validation.predictions.blocks import HeldBlocks, held_blocks
from sim.validation.predictions.choices import Choices, compare_choices
from sim.validation.predictions.quantities import Numbers, predicted_numbers
from sim.validation.refused import Refused, refused, unserved
from sim.validation.replay.recording import Recording


@dataclass(frozen=True, slots=True)
class Miss:
    """One request whose cached tokens were predicted wrong."""

    row: int
    """Place in the client's input, from 0."""
    session: str | None
    worker: str | None
    sent_s: float
    """Seconds of the replay."""
    prompt_tokens: int
    measured_tokens: int
    """Prompt tokens that the engine did not compute, as it says."""
    predicted_tokens: int | None
    """None for a request that the replay refused."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cached tokens request by request."""

    compared: int
    """Completed requests whose engine says what it reused."""
    right: int
    baseline_right: int
    """The same by the timeless LRU."""
    misses: tuple[Miss, ...]
    """All of them, the farthest off first."""


@dataclass(frozen=True, slots=True)
class Forced:
    """Measured, predicted, and predicted by the baseline (`sim.validation.predictions.lru`)."""

    measured: Numbers
    predicted: Numbers
    baseline: Numbers
    agreement: Agreement
    held_blocks: tuple[HeldBlocks, ...]
    """Of each worker whose KV events were recorded."""
    choices: dict[str, Choices]
    """By stage."""
    refused: Refused
    notes: tuple[str, ...]


def replayed_routing(case: ValidationCase) -> Forced:
    """Predict the caching of a run on the cluster of its scenario.

    Raises:
        InputError: the run's prompts or times are not known, or the scenario has too few workers.

    """
    recorded, scenario, replayed = case.recording, case.scenario, case.replayed
    rows = replayed.requests
    predicted = {row["index"]: _cached_tokens(row) for row in rows}
    return Forced(
        case.measured,
        predicted_numbers(replayed),
        lru.numbers(recorded, scenario, unserved(recorded, rows)),
        _agreement(recorded, predicted, lru.cached_tokens(recorded, scenario)),
        tuple(held_blocks(replayed)),
        compare_choices(replayed),
        refused(recorded, rows),
        tuple(recorded.notes),
    )


def _cached_tokens(row: Mapping[str, Any]) -> int | None:
    if row["counted_prompt_tokens"] is None:
        return None
    return (row["local_hit_tokens"] or 0) + (row["external_hit_tokens"] or 0)


def _agreement(
    recorded: Recording, predicted: Mapping[int, int | None], baseline: Mapping[int, int]
) -> Agreement:
    known = {
        index: tokens
        for index in recorded.completed
        if (tokens := recorded.requests[index].engine_cached_tokens) is not None
    }
    misses = [
        _miss(recorded, index, tokens, predicted[index])
        for index, tokens in known.items()
        if predicted[index] != tokens
    ]
    return Agreement(
        len(known),
        len(known) - len(misses),
        sum(baseline.get(index) == tokens for index, tokens in known.items()),
        tuple(sorted(misses, key=_farthest_first)),
    )


def _farthest_first(miss: Miss) -> tuple[int, int]:
    predicted = miss.predicted_tokens
    # A refused request is off by all of its prompt.
    off = miss.prompt_tokens if predicted is None else abs(predicted - miss.measured_tokens)
    return -off, miss.row


def _miss(recorded: Recording, index: int, measured: int, predicted: int | None) -> Miss:
    request, sent = recorded.requests[index], recorded.trace.requests[index]
    worker = recorded.run.worker(request.prefill_worker_id)
    return Miss(
        request.row,
        request.session,
        worker.name if worker else None,
        sent.timestamp_s or 0.0,
        sent.prompt_tokens,
        measured,
        predicted,
    )
