"""Free routing: times of sending and of answers are recorded, the simulated router chooses.

Equal costs are settled by chance, in the router and here: a run is compared with many seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.measured.run import MeasuredRun
from sim.scenario import Scenario
from sim.validation.quantities import measured_numbers, predicted_numbers
from sim.validation.recording import recording
from sim.validation.replay import replay

PREDICTED = ("recomputed_tokens", "workers_per_session", "decode_hit_tokens")
COVERAGE = 0.95


@dataclass(frozen=True, slots=True)
class Prediction:
    """One number over all seeds."""

    measured: float | None
    mean: float
    low: float
    """2.5th percentile of the seeds."""
    high: float
    """97.5th percentile."""

    @property
    def inside(self) -> bool | None:
        """Whether the measured value is in the interval, ends included."""
        return None if self.measured is None else self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class Free:
    """Predictions by the names of `sim.validation.quantities.LABELS`."""

    seeds: int
    predictions: dict[str, Prediction]
    notes: tuple[str, ...]


def free(
    run: MeasuredRun, scenario: Scenario, seeds: int, on_seed: Callable[[], None] = lambda: None
) -> Free:
    """Predict routing and caching of a run with `seeds` seeds, from the scenario's own on.

    Raises:
        InputError: the run's prompts or times are not known, or the scenario has too few workers.

    """
    recorded = recording(run)
    measured = measured_numbers(recorded, scenario.capacity().block_bytes)
    drawn: dict[str, list[float]] = {}
    for n in range(seeds):
        seeded = scenario.model_copy(update={"seed": scenario.seed + n})
        numbers = predicted_numbers(replay(recorded, seeded, forced=False))
        for name in PREDICTED:
            value = numbers[name]
            if value is not None:
                drawn.setdefault(name, []).append(value)
        on_seed()
    predictions = {name: _prediction(measured[name], values) for name, values in drawn.items()}
    return Free(seeds, predictions, tuple(recorded.notes))


def _prediction(measured: float | None, values: Sequence[float]) -> Prediction:
    tail = (1 - COVERAGE) / 2
    low, high = np.quantile(values, [tail, 1 - tail]).tolist()
    return Prediction(measured, sum(values) / len(values), low, high)
