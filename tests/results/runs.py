"""Runs made by hand, small enough to know every number of them."""

from typing import Any

from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn

FAST_NVLINK = {"bandwidth_bytes_per_s": 1e9, "latency_s": 0.25, "per_descriptor_s": 0.0}


def two_turns(**options: Any) -> RunResult:
    """Two turns of session "s" on two workers, each of which a policy sends to another one.

    Every step takes a second and 64 tokens. 64 tokens on worker 0: first token at 1, last one at 2. Sent at
    10, 80 tokens on worker 1, which has nothing of them: first token at 12, after two steps, last one at 14.
    """
    requests = trace(turn(0.0, 64, 2, [1, 2, 3, 4]), turn(10.0, 80, 3, [1, 2, 3, 4, 5]))
    return run(
        scenario(**options),
        trace=requests,
        step_time=Pace(),
        policy=lambda terms, query, draw: query.request,
    )


def a_pair() -> RunResult:
    """One request on a prefill worker and a decode worker: prefill 0 to 1, pull to 1.25, answer to 3.25 s."""
    return run(
        scenario(
            workers={"count": None, "prefill": 1, "decode": 1},
            disaggregation={"network": {"nvlink": FAST_NVLINK}},
        ),
        trace=trace(turn(0.0, 33, 2, (1, 2, 3))),
        step_time=Pace(),
    )
