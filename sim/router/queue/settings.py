"""The settings of the router's queue."""

from typing import Literal

from pydantic import Field

from sim.base.bounds import LONGEST_S, Weight
from sim.base.settings import Settings
from sim.router.queue.policy_config import PolicyConfig

QueuePolicy = Literal["fcfs", "wspt", "lcfs"]


class QueueSettings(Settings):
    """Who waits at the router, and in which order they go."""

    queue_threshold: Weight | None = None
    """A rank is busy with more booked prefill tokens than this times its `max_num_batched_tokens`; while all
    ranks that may serve a request are, it waits at the router. Unset: nobody waits."""
    queue_policy: QueuePolicy = "fcfs"
    """Who goes first: `fcfs`, who came first; `wspt`, the shortest uncached prompt; `lcfs`, who came last. A
    priority jump is seconds of waiting, for `wspt` a factor less 1; a strict priority comes before that."""
    policy_config: str | PolicyConfig | None = None
    """Policy classes, in place of the two settings above: the path of Dynamo's YAML file, or the same keys as
    a table."""
    overlap_refresh_after_secs: float = Field(default=10.0, ge=0, le=LONGEST_S, allow_inf_nan=False)
    """What workers hold of a prompt is looked up when it arrives, and again when it goes if it waited so many
    seconds; 0: not again."""

    @property
    def has_queue(self) -> bool:
        """Whether there is anything to wait for."""
        return self.queue_threshold is not None or self.policy_config is not None
