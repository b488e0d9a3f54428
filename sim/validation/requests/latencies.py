"""Latencies of a run's requests, the percentiles that are compared, and their errors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.measured.formats.requests_csv import RequestsRun
from sim.scenario.scenario import Scenario
from sim.simulation.run import run
from sim.workload.request import Request, Trace

PERCENTILES = (
    ("ttft_s", 50),
    ("ttft_s", 90),
    ("ttft_s", 99),
    ("tpot_s", 50),
    ("tpot_s", 99),
    ("e2e_s", 50),
    ("e2e_s", 99),
)
"""What is compared of each run."""


@dataclass(frozen=True, slots=True)
class Latencies:
    """One number a request, in seconds, in the order of the run; nan where there is none."""

    ttft_s: NDArray[np.float64]
    tpot_s: NDArray[np.float64]
    e2e_s: NDArray[np.float64]

    def percentile(self, name: str, percentile: float) -> float | None:
        """Return a percentile of those that there are, in seconds; None if there are none."""
        known = getattr(self, name)[~np.isnan(getattr(self, name))]
        return float(np.percentile(known, percentile)) if len(known) else None

    def where(self, kept: NDArray[np.bool_]) -> "Latencies":
        """Return those of some requests."""
        return Latencies(self.ttft_s[kept], self.tpot_s[kept], self.e2e_s[kept])


def measured(recorded: RequestsRun) -> Latencies:
    """Return what the client of a run measured."""
    return Latencies(recorded.ttft_s, recorded.tpot_s, recorded.e2e_s)


def predicted(recorded: RequestsRun, scenario: Scenario) -> Latencies:
    """Run a run's requests again: sent when they were meant to be, behind the scenario's client.

    What is in a prompt is not recorded: every prompt is taken to be a new one.
    """
    quiet = scenario.model_copy(update={"output": scenario.output.model_copy(update={"tables": ()})})
    table = run(quiet, trace=_trace(recorded)).rows.tables["requests"]
    order = np.argsort(table.values("index").values)
    columns = (table.values(name) for name in ("ttft_s", "tpot_s", "e2e_s"))
    return Latencies(*(np.where(known, values, np.nan)[order] for values, known in columns))


def _trace(recorded: RequestsRun) -> Trace:
    """Return the requests, each a session with a prompt of one chunk that no other has."""
    columns = (recorded.arrival_s - recorded.arrival_s[0], recorded.input_tokens, recorded.output_tokens)
    requests = [
        Request(index, str(index), 0, arrival_s, None, prompt, output, (index,))
        for index, (arrival_s, prompt, output) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
    return Trace(requests, int(recorded.input_tokens.max()), recorded.name)


def errors(real: Latencies, simulated: Latencies) -> list[float | None]:
    """Return the relative error, with its sign, of each of `PERCENTILES`, over requests that both have.

    None where there are none, such as of TPOT if all answers are of one token, or the measured one is 0.
    """
    both = ~(np.isnan(real.e2e_s) | np.isnan(simulated.e2e_s))
    pair = simulated.where(both), real.where(both)
    found: list[float | None] = []
    for name, percentile in PERCENTILES:
        ours, theirs = (latencies.percentile(name, percentile) for latencies in pair)
        found.append(None if ours is None or not theirs else ours / theirs - 1)
    return found


def request_error(real: Latencies, simulated: Latencies) -> float | None:
    """Return the mean absolute relative error of E2E, request by request; None if there is none."""
    shares = np.abs(simulated.e2e_s / real.e2e_s - 1)
    return None if np.isnan(shares).all() else float(np.nanmean(shares))
