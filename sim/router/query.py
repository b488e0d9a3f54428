"""What the router is asked: one request, as far as routing needs to know it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from sim.router.columns import Column
from sim.router.index import Overlap
from sim.router.overrides import NO_OVERRIDES, Overrides

NO_TAINTS: Mapping[str, float] = MappingProxyType({})


class Query(NamedTuple):
    """A request that wants a rank. A rank is one (worker, data-parallel rank) pair, counted from 0."""

    request: int
    """The request's id."""
    isl_tokens: int
    """Prompt tokens."""
    blocks: Sequence[int]
    """Ids of the prompt's full blocks. An id stands for the whole prefix up to the block's end."""
    session: str | None = None
    expected_osl: int | None = None
    """Output tokens that the client expects: lets booked blocks fade as the output approaches it."""
    overrides: Overrides = NO_OVERRIDES
    allowed: frozenset[int] | None = None
    """Ranks to choose from; None: all."""
    pinned: int | None = None
    """The only rank that will do."""
    required_taints: frozenset[str] = frozenset()
    """Taints that a rank must have."""
    preferred_taints: Mapping[str, float] = NO_TAINTS
    """Weights of taints that make a rank cheaper (positive) or dearer (negative)."""
    overlap: Overlap | None = None
    """What each rank holds of the prompt, where that is known from elsewhere: the index is not asked then."""
    priority_jump: float = 0.0
    """Seconds by which it is ahead of its arrival in the router's queue (`agent_hints.priority` >= 0)."""
    strict_priority: int = 0
    """The tier of the router's queue in which it waits: higher ones go first."""
    policy_class: str | None = None
    """Which family of policy classes it asks for (header `x-dynamo-meta-policy-class`)."""
    shared: Column = 0
    """Blocks of the prompt that a cache outside the workers has, beyond what each rank has on its device."""
    sequence: Sequence[int] = ()
    """Ids of the full blocks of prompt and answer, where an answer has any and an index asks for them."""
    hash_blocks: Sequence[int] | None = None
    """`blocks` in the smallest size that engines have, where that is another; None: it is not."""
