"""The cache groups of an engine, made from what they are as data."""

from collections.abc import Sequence

from sim.kv.draft_rules import DraftRules
from sim.kv.group_spec import GroupSpec, aligned_tokens, hash_tokens
from sim.kv.groups import AttentionGroup, Group
from sim.kv.pool import BlockPool
from sim.kv.recurrent_group import RecurrentGroup
from sim.kv.window_group import WindowGroup


def make_groups(
    pool: BlockPool,
    specs: Sequence[GroupSpec],
    drafts: DraftRules,
    in_flight_tokens: int,
    max_model_len: int,
) -> list[Group]:
    """Return the groups in order of their ids; the bounds are those of `WindowGroup`."""
    groups: list[Group] = []
    for group, spec in enumerate(specs):
        scale = spec.block_tokens // hash_tokens(specs)
        if spec.kind == "full":
            groups.append(AttentionGroup(pool, group, spec.block_tokens, scale))
        elif spec.kind == "recurrent":
            groups.append(RecurrentGroup(pool, group, spec.block_tokens, drafts.tokens))
        else:
            groups.append(
                WindowGroup(
                    pool,
                    group,
                    spec,
                    drafts,
                    scale=scale,
                    aligned_tokens=aligned_tokens(specs),
                    in_flight_tokens=in_flight_tokens,
                    max_model_len=max_model_len,
                )
            )
    return groups
