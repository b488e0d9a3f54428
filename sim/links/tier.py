"""A tier below the GPU's pool, as a value: what keeps its blocks, how they come and go, who hears of it."""

from collections.abc import Callable
from typing import NamedTuple

from sim.kv.events import Tier as RouterTier
from sim.kv.offload import OffloadTier
from sim.links.transfer import LinkSettings


class Tier(NamedTuple):
    """A tier of every worker that offloads; of several, each has the next one below it."""

    name: str
    """What KV events, tables and the ledger call it."""
    policy: Callable[[int, str], OffloadTier]
    """Makes what keeps the keys of one worker, of capacity in blocks and name; one of
    `sim.kv.offload.POLICIES`."""
    blocks: int
    """How many it has."""
    down: LinkSettings
    """How blocks get there: to the first from GPU memory, to all others from the first."""
    up: LinkSettings
    """How they come back."""
    router_tier: RouterTier | None
    """What routers take it for; None: they hear nothing of it."""
    link: str
    """Kind of its links, as tables and faults have it."""
    pieces_per_block: int = 1
    """Contiguous pieces in which a block is copied."""
    remote: bool = False
    """Whether its blocks are in other workers' memory, and come over the network in place of links of its
    own."""
