"""Several front ends, each with a router of its own (Dynamo 1.5.0)."""

from typing import Annotated

from pydantic import Field

from sim.base.settings import Settings
from sim.base.units import Seconds

Loss = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ReplicaSettings(Settings):
    """What the routers of several front ends (`frontend.replicas`) tell each other."""

    replica_sync: bool = False
    """Whether routers tell each other whom they book, of first tokens and of ends (Dynamo's
    --router-replica-sync). Blocks of answers and predicted contents of caches stay with the router that has
    them."""
    replica_sync_delay_s: Seconds = 0.2e-3
    """How long that is on its way: nobody has measured it, this is what a KV event takes here."""
    replica_sync_loss: Loss = 0.0
    """Chance that a router does not hear one such message of another: they are sent once (best effort)."""
