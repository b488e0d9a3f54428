"""How long a router takes a prompt to need: the stand-in for AIConfigurator's estimate."""

from sim.cluster.worker_kinds import WorkerKind
from sim.router import PrefillEstimate


def prefill_estimate(kind: WorkerKind) -> PrefillEstimate:
    """Return the step time of workers of a kind for one prompt alone, all of it in one step.

    So does AIConfigurator for Dynamo 1.5.0, which asks it for a batch of one: uncached tokens and the cached
    prefix, whatever `max_num_batched_tokens` is.
    """
    law = kind.step_time

    def prefill_s(tokens: int, prefix_tokens: int) -> float:
        return law.step_s([(tokens, prefix_tokens)], 0, 0)

    return prefill_s
