"""The two routers of a disaggregated deployment, each made from the one configuration (Dynamo 1.5.0).

A request is routed twice: to a prefill worker, and, once that has answered, to a decode worker. Each pool has
a router with loads of its own.
"""

from typing import NamedTuple

from sim.base.errors import InputError
from sim.router.config import RouterConfig
from sim.router.overrides import Overrides
from sim.router.rules import WorkerType

DECODES = {"track_prefill_tokens": False, "assume_kv_reuse": False}
"""What is overridden where a prompt has been computed elsewhere."""


class StageRouting(NamedTuple):
    """How the router of one pool is built and asked."""

    config: RouterConfig
    """For the router of this pool."""
    overrides: Overrides
    """For every query of this stage."""
    worker_type: WorkerType
    """For the router of this pool."""


def prefill_stage(config: RouterConfig) -> StageRouting:
    """Return the stage on which the prompt is computed: prefill, overlap and number of requests, no blocks.

    A booking loses the prompt's tokens at the prefill worker's first token and the rest at the answer's end.
    """
    own = {"track_active_blocks": False, "policy": config.prefill_policy or config.policy}
    return StageRouting(config.model_copy(update=own), config.overrides, "prefill")


def decode_stage(config: RouterConfig) -> StageRouting:
    """Return the stage that generates: blocks and number of requests only, every request's blocks its own.

    Dynamo sends a credit of 0 with each query, and its log shows no overlap on this stage. A router without
    credit decides the same; it has no index, so KV events of decode workers change nothing.
    """
    own = {"overlap_score_credit": 0.0, "policy": config.decode_policy or config.policy}
    return StageRouting(config.model_copy(update=own), config.overrides.model_copy(update=DECODES), "decode")


def conditional_decode_stage(config: RouterConfig) -> StageRouting:
    """Return the stage that generates where disaggregation is conditional (`sim.router.conditional`).

    It keeps the credit, so that the decode form of the cost applies, and needs the KV events of the decode
    workers. The peek before it and a request that stays local go to the same router without any overrides.

    Raises:
        InputError: the policy is not Dynamo's own, which conditional disaggregation needs.
    """
    for key in ("prefill_policy", "decode_policy", "policy"):
        policy = getattr(config, key)
        if policy not in (None, "kv"):
            raise InputError(
                f'router.{key} = "{policy}": conditional disaggregation works with policy "kv" only'
            )
    return StageRouting(config, config.overrides.model_copy(update=DECODES), "decode")
