"""The cache groups of an engine, made from what they are as data."""

from collections.abc import Sequence

from sim.kv.draft_rules import DraftRules
from sim.kv.group_spec import GroupSpec, aligned_tokens, hash_tokens
from sim.kv.groups import AttentionGroup, Group
from sim.kv.pool import BlockPool
from sim.kv.recurrent_group import RecurrentGroup
from sim.kv.retention import Retention, SparseRetention
from sim.kv.state_rules import StateRules
from sim.kv.window_group import WindowGroup, hit_blocks


def make_groups(
    pool: BlockPool,
    specs: Sequence[GroupSpec],
    drafts: DraftRules,
    states: StateRules,
    *,
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
            groups.append(
                RecurrentGroup(
                    pool,
                    group,
                    spec.block_tokens,
                    drafts.tokens,
                    retention=retention(specs, spec, states, drafts),
                    states=states,
                    early=drafts.drops_last_block,
                )
            )
        else:
            groups.append(
                WindowGroup(
                    pool,
                    group,
                    spec,
                    drafts,
                    retention=retention(specs, spec, states, drafts),
                    scale=scale,
                    aligned_tokens=aligned_tokens(specs),
                    in_flight_tokens=in_flight_tokens,
                    max_model_len=max_model_len,
                )
            )
    return groups


def retention(
    specs: Sequence[GroupSpec], spec: GroupSpec, states: StateRules, drafts: DraftRules
) -> Retention:
    """Return which states or blocks of a group stay findable; chunked local attention keeps all."""
    if states.retention_tokens is None or spec.kind == "chunked_local":
        return Retention()
    needed, early = 1, drafts.drops_last_block
    if spec.kind == "sliding_window":
        needed = hit_blocks(spec) + early
    return SparseRetention(states.retention_tokens, spec.block_tokens, aligned_tokens(specs), needed, early)
