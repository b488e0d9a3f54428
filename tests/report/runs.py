"""Small runs to show: one session that goes from worker to worker."""

from sim.simulation.result import RunResult
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn

NAME = '<b>A & "B"</b>\''
"""What a session may be called."""
PREFILL_AND_DECODE = {"workers": {"count": None, "prefill": 2, "decode": 1}}


def alternate(terms, query, draw):
    """A policy that ignores what it is told: first worker 0, then 1, then 0 again."""
    return query.request % 2


def small_run(*, session=NAME, policy=alternate, **sections) -> RunResult:
    """Turns of 64, 96 and 128 tokens, each with the one before; a block has 16 tokens.

    By `alternate`: turn 1 has the 64 tokens of turn 0 to compute again on worker 1. Turn 2 finds them on
    worker 0, and has the next 32 to compute again, which worker 1 has.
    """
    turns = [turn(20.0 * n, 64 + 32 * n, 3, range(4 + 2 * n), session) for n in range(3)]
    return run(scenario(**sections), trace=trace(*turns), policy=policy, step_time=Pace())
