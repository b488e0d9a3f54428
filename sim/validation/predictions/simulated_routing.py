"""Free routing: times of sending and of answers are recorded, the simulated router chooses.

Equal costs are settled by chance, in the router and here: a run is compared with many seeds. And recorded
times are one draw of many: each seed draws every request's durations from those of the run
(`sim.validation.predictions.durations`). A client with a limit of requests in flight sends as the drawn
answers let it.

Asked for a `spread`, durations stay with their requests instead, wherever they go: the recorded ones times
exp(spread x Z), Z standard normal and each request's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp
from statistics import NormalDist

from sim.base.sums import added
from sim.base.uniform import uniform
from sim.runs.spread import ends
from sim.scenario.scenario import Scenario
from sim.validation.case import ValidationCase
from sim.validation.predictions.durations import DrawnTimes, Durations
from sim.validation.predictions.quantities import predicted_numbers
from sim.validation.refused import Refused, most, refused
from sim.validation.replay.recording import Recording, Times
from sim.validation.replay.replay import Replay, replay
from sim.validation.replay.sending import as_due, limit_in_flight

PREDICTED = ("recomputed_tokens", "workers_per_session", "decode_hit_tokens")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One number over all seeds."""

    measured: float | None
    mean: float
    low: float
    """2.5th percentile of the seeds."""
    high: float
    """97.5th percentile."""
    compared: bool = True
    """False where a replay refused requests that were measured."""

    @property
    def inside(self) -> bool | None:
        """Whether the measured value is in the interval, ends included."""
        known = self.measured is not None and self.compared
        return self.low <= self.measured <= self.high if known and self.measured is not None else None


@dataclass(frozen=True, slots=True)
class Free:
    """Predictions by the names of `sim.validation.predictions.quantities.LABELS`."""

    seeds: int
    spread: float | None
    """None: durations are drawn from those of the run."""
    predictions: dict[str, Prediction]
    refused: Refused
    """Of the seed that refused most."""
    notes: tuple[str, ...]


def simulated_routing(
    case: ValidationCase,
    seeds: int,
    spread: float | None = None,
    on_seed: Callable[[], None] = lambda: None,
) -> Free:
    """Predict routing and caching of a run with `seeds` seeds, from the scenario's own on.

    Raises:
        InputError: the run's prompts or times are not known, or the scenario has too few workers.

    """
    recorded, scenario = case.recording, case.scenario
    one_seed = _drawn(case) if spread is None else _spread(recorded, spread)
    drawn: dict[str, list[float]] = {}
    lost = []
    for n in range(seeds):
        replayed = one_seed(scenario.model_copy(update={"seed": scenario.seed + n}))
        lost.append(refused(replayed.recording, replayed.requests))
        numbers = predicted_numbers(replayed)
        for name in PREDICTED:
            value = numbers[name]
            if value is not None:
                drawn.setdefault(name, []).append(value)
        on_seed()
    compared = not any(lost)
    predictions = {
        name: prediction(case.measured[name], values, compared=compared) for name, values in drawn.items()
    }
    return Free(seeds, spread, predictions, most(lost), tuple(recorded.notes))


def _drawn(case: ValidationCase) -> Callable[[Scenario], Replay]:
    """Return what replays a seed with durations drawn from those of the run."""
    durations = Durations(case.recording, case.replayed)
    due, limit = as_due(case.recording), limit_in_flight(case.recording)

    def one_seed(seeded: Scenario) -> Replay:
        timing = DrawnTimes(due, durations, seeded.seed)
        return replay(due, seeded, forced=False, timing=timing, limit=limit)

    return one_seed


def _spread(recorded: Recording, spread: float) -> Callable[[Scenario], Replay]:
    """Return what replays a seed with recorded durations, each request's times a factor of its own."""

    def one_seed(seeded: Scenario) -> Replay:
        drawn = _other_durations(recorded, seeded.seed, spread) if spread else recorded
        return replay(drawn, seeded, forced=False)

    return one_seed


def _other_durations(recorded: Recording, seed: int, spread: float) -> Recording:
    """Return the recording with every request's durations multiplied by a factor of its own."""
    times = {}
    for index, seen in recorded.times.items():
        number = uniform(seed, "validation durations", index)
        factor = exp(spread * NormalDist().inv_cdf(max(number, 2.0**-53)))
        times[index] = _stretched(seen, recorded.trace.requests[index].timestamp_s or 0.0, factor)
    return replace(recorded, times=times)


def _stretched(seen: Times, sent_s: float, factor: float) -> Times:
    def moved(time_s: float) -> float:
        return sent_s + (time_s - sent_s) * factor

    return Times(
        tuple(map(moved, seen.tokens_s)),
        moved(seen.first_token_s),
        moved(seen.end_s),
        None if seen.prefilled_s is None else moved(seen.prefilled_s),
    )


def prediction(measured: float | None, values: Sequence[float], *, compared: bool = True) -> Prediction:
    """Return mean and interval of a number that each seed gave a value of."""
    return Prediction(measured, added(values) / len(values), *ends(values), compared)
