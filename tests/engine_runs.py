"""Runs of requests as a measured engine leaves them, made by the simulator itself."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sim.measured.formats.requests_csv import COLUMNS, RequestsRun
from sim.scenario.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.validation.requests.latencies import predicted

HEADER = ",".join(COLUMNS)


def engine(*overrides: str) -> Scenario:
    """Return one engine that the shipped kernel measurements time, unless told otherwise."""
    kernels = "timing.coefficients=qwen3-14b-bf16_h100-80gb-kernels"
    return load_scenario("h100-qwen3-14b", [kernels, *overrides])


def arrivals(rate_per_s: float, n: int, seed: int = 0) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return Poisson arrivals in seconds, the first at 0."""
    gaps = np.random.default_rng(seed).exponential(1 / rate_per_s, n - 1)
    return np.concatenate(([0.0], np.cumsum(gaps))).round(4)


def simulated_run(
    scenario: Scenario,
    name: str,
    rate_per_s: float,
    n: int,
    *,
    prompt: int = 1000,
    output: int = 16,
    seed: int = 0,
) -> RequestsRun:
    """Return what a client would have measured of an engine that is exactly the scenario's."""
    arrival_s = arrivals(rate_per_s, n, seed)
    prompts = np.full(n, prompt) + np.arange(n) % 7
    nothing = np.full(n, np.nan)
    run = RequestsRun(name, arrival_s, arrival_s, prompts, np.full(n, output), nothing, nothing)
    found = predicted(run, scenario)
    return RequestsRun(name, arrival_s, arrival_s, prompts, run.output_tokens, found.ttft_s, found.e2e_s)


def write_csv(path: Path, runs: Iterable[RequestsRun]) -> Path:
    """Write runs as a file."""
    lines = [HEADER]
    for run in runs:
        for row in zip(
            run.arrival_s,
            run.send_s,
            run.input_tokens,
            run.output_tokens,
            run.ttft_s * 1e3,
            run.e2e_s * 1e3,
            strict=True,
        ):
            lines.append(",".join([run.name, *(str(value) for value in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path
