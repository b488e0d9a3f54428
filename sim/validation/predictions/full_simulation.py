"""The free run: of a measured run only what the client meant to send is taken; all else is simulated.

An open-loop client's requests leave when they did. Behind a limit on requests in flight they leave when the
simulated answers let them, so that the client is simulated too. Routing, caching and every time are the
scenario's. Each seed settles ties anew, and takes another draw of the step-time law where its coefficients
are known to intervals.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sim.scenario.scenario import Scenario
from sim.simulation.run import run as simulate
from sim.validation.case import ValidationCase
from sim.validation.predictions.fit import Fitted
from sim.validation.predictions.quantities import Numbers, predicted_numbers
from sim.validation.predictions.simulated_routing import PREDICTED, Prediction, prediction
from sim.validation.refused import Refused, most, refused
from sim.validation.replay.client import as_the_client_would
from sim.validation.replay.recording import Recording
from sim.validation.replay.replay import Replay, check_workers

LATENCIES = {
    "ttft_s": ("p50", "p90", "p99"),
    "itl_s": ("p50", "p99"),
    "tpot_s": ("p50", "p99"),
    "e2e_s": ("p50", "p90", "p99"),
}
"""The percentiles that are predicted, by their names in both summaries."""


@dataclass(frozen=True, slots=True)
class Timed:
    """Predictions by name: a latency's percentile as in the summaries, or one of `quantities.LABELS`."""

    seeds: int
    law: str
    """What the step times rest on, in a line."""
    drawn: bool
    """Whether each seed has another draw of the law."""
    predictions: dict[str, Prediction]
    refused: Refused
    """Of the seed that refused most."""
    notes: tuple[str, ...]


def full_simulation(
    case: ValidationCase,
    seeds: int,
    fitted: Fitted | None = None,
    on_seed: Callable[[], None] = lambda: None,
) -> Timed:
    """Predict a run with `seeds` seeds, from the scenario's own on; a fitted law goes before its own.

    Raises:
        InputError: the run's prompts or send times are not known, or the scenario has too few workers.

    """
    recorded, scenario = case.recording, case.scenario
    check_workers(recorded, scenario)
    sent, cluster = as_the_client_would(recorded, fitted.law(scenario) if fitted else scenario)
    measured = measured_of(case)
    times = cluster.coefficients()
    in_file = times.file is not None and not (scenario.timing.preset or scenario.timing.draw)
    drawn: dict[str, list[float]] = {}
    refusals: list[Refused] = []
    for n in range(seeds):
        seeded = cluster.model_copy(update={"seed": scenario.seed + n})
        if fitted:
            seeded = fitted.law(seeded, n + 1)
        elif in_file:
            timing = scenario.timing.model_copy(update={"draw": n + 1})
            seeded = seeded.model_copy(update={"timing": timing})
        numbers, lost = _numbers(sent, seeded)
        refusals.append(lost)
        for name, value in numbers.items():
            if value is not None:
                drawn.setdefault(name, []).append(value)
        on_seed()
    compared = not any(refusals)
    predictions = {
        name: prediction(measured[name], values, compared=compared) for name, values in drawn.items()
    }
    law = f"step times ({times.origin}): {times.summary}"
    drawn_law = fitted is not None or in_file
    return Timed(seeds, law, drawn_law, predictions, most(refusals), tuple(recorded.notes))


def measured_of(case: ValidationCase) -> Numbers:
    """Return the measured side of all that is predicted, by the same names."""
    return {**_percentiles(case.summary), **case.measured}


def _numbers(sent: Recording, scenario: Scenario) -> tuple[dict[str, float | None], Refused]:
    found = simulate(scenario, trace=sent.trace)
    replayed = Replay(sent, scenario, found.rows, scenario.capacity().block_bytes, (), ())
    numbers = predicted_numbers(replayed)
    lost = refused(sent, replayed.requests)
    return {**_percentiles(found.to_dict()), **{name: numbers[name] for name in PREDICTED}}, lost


def _percentiles(summary: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        f"{name}.{percentile}": summary[name][percentile]
        for name, percentiles in LATENCIES.items()
        for percentile in percentiles
    }
