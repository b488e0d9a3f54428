"""What an engine's loop does for prompts: it begins no step and processes no output meanwhile."""

from sim.engine.plan import StepPlan
from sim.hardware.hosts import HostCoefficients


class EngineLoop:
    """Of one engine.

    Args:
        coefficients: how long it takes.
        descriptors_per_block: of a pull.
    """

    __slots__ = ("_coefficients", "_descriptors_per_block", "_pulled")

    def __init__(self, coefficients: HostCoefficients, descriptors_per_block: int) -> None:
        self._coefficients = coefficients
        self._descriptors_per_block = descriptors_per_block
        self._pulled: set[int] = set()
        """Requests whose pull was posted, and which no step has computed a token of."""

    def held_s(self, plan: StepPlan) -> float:
        """Return how long a step that was planned keeps the loop: admissions, and pulls that are posted."""
        held_s = 0.0
        for admission in plan.admitted:
            if not admission.resumed:
                held_s += self._coefficients.admit_s_per_token * admission.request.prompt_tokens
        for pull in plan.pulls:
            self._pulled.add(pull.request_id)
            descriptors = pull.blocks * self._descriptors_per_block
            held_s += self._coefficients.post_s_per_descriptor * descriptors
        return held_s

    def handoff_s(self, plan: StepPlan) -> float:
        """Return by how much longer a step takes, as it is the first of a request that was pulled."""
        if not self._pulled:
            return 0.0
        first = [request.request_id for request, _ in plan.scheduled if request.request_id in self._pulled]
        self._pulled.difference_update(first)
        return self._coefficients.handoff_step_s if first else 0.0


def engine_loop(coefficients: HostCoefficients, descriptors_per_block: int) -> EngineLoop | None:
    """Return the loop of an engine; None if it takes no time."""
    of = coefficients
    if not (of.admit_s_per_token or of.post_s_per_descriptor or of.handoff_step_s):
        return None
    return EngineLoop(coefficients, descriptors_per_block)
