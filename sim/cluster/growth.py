"""Whether anybody may notice with which output of a worker a block of an answer is full."""

from collections.abc import Mapping

from sim.hardware.coefficient_file import FrontendCoefficients
from sim.scenario.scenario import Scenario
from sim.workload.answers import may_overtake
from sim.workload.request import Answer, Trace


def growth_is_seen(
    scenario: Scenario, trace: Trace, answers: Mapping[int, Answer], times: FrontendCoefficients
) -> bool:
    """Return whether workers have to tell of a block of an answer with the very output that fills it.

    If not, fast forward may tell of all of them with the answer's last output: the first prompt that holds
    them is routed when that has been heard of. `answers` are those that prompts hold.
    """
    if scenario.router.hears_growth:
        return True
    if not answers:
        return False
    return (
        may_overtake(trace, answers, scenario.replay)
        or scenario.can_break  # an answer that is cut short has no last output
        or any(request.cancel_after_s is not None for request in trace.requests)
        or 0 < scenario.frontend.event_delay_s >= times.alpha_out_s + times.alpha_in_s
    )
