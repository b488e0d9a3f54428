"""What a cache group is, as data: a model's layers give a tuple of these, in order of group id.

vLLM 0.28.0 (`v1/core/kv_cache_utils.py`): layers of equal spec share a group, groups draw blocks of equal
bytes from one pool, and a block may hold another number of tokens in every group.
"""

from collections.abc import Sequence
from math import gcd, lcm
from typing import Literal, NamedTuple

Kind = Literal["full", "sliding_window", "chunked_local", "recurrent"]


class GroupSpec(NamedTuple):
    """The rule of one cache group."""

    kind: Kind
    block_tokens: int
    window_tokens: int = 0
    """Tokens that a sliding window reads, the newest included; the chunk of chunked local attention; else
    0."""


def hash_tokens(groups: Sequence[GroupSpec]) -> int:
    """Tokens for which there is a block identity: every group's block is a multiple of it."""
    return gcd(*[group.block_tokens for group in groups])


def aligned_tokens(groups: Sequence[GroupSpec]) -> int:
    """Tokens of the scheduler's block: hits of all groups end at a multiple of it."""
    return lcm(*[group.block_tokens for group in groups])


def full_group(groups: Sequence[GroupSpec]) -> int | None:
    """Return the id of the full-attention group, whose events alone reach a router; None if there is none."""
    for group, spec in enumerate(groups):
        if spec.kind == "full":
            return group
    return None


def even_groups(block_tokens: int, recurrent: int = 0) -> tuple[GroupSpec, ...]:
    """Return the groups of a plain model, or of one with recurrent groups before its attention group."""
    return (*[GroupSpec("recurrent", block_tokens)] * recurrent, GroupSpec("full", block_tokens))
