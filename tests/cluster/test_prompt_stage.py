"""What a prefill stage stores in its CPU tier: with answers, also the block that its one token fills."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clusters import HOST_BLOCK_BYTES, rows, run_cluster, scenario, trace, turn


def pair(state_groups=0, *, prompt_only, sync=False, **joined):
    return scenario(
        state_groups,
        workers={"count": None, "prefill": 1, "decode": 1},
        engine={"async_scheduling": not sync},
        offload={"cpu_bytes": 200 * HOST_BLOCK_BYTES, "offload_prompt_only": prompt_only},
        disaggregation=joined,
    )


def prompt(tokens, answer=2, at_s=0.0, first=1):
    return turn(at_s, tokens, answer, range(first, first - (-tokens // 16)))


def tier(cluster):
    return cluster.workers[0].engine.offload.tier


@pytest.mark.parametrize(
    ("tokens", "prompt_only", "stored"),
    [(31, False, 2), (31, True, 1), (32, False, 2), (30, False, 1), (15, False, 1), (15, True, 0)],
)
def test_a_plain_model_stores_the_block_that_the_one_token_fills(tokens, prompt_only, stored):
    """Blocks of 16: 31 tokens and the generated one are two, of which the prompt itself fills one."""
    cluster = run_cluster(pair(prompt_only=prompt_only), trace(prompt(tokens)))
    assert [row["status"] for row in rows(cluster)] == ["completed"]
    assert tier(cluster).used_blocks == stored


@pytest.mark.parametrize(("tokens", "stored"), [(31, 1), (32, 2)])
def test_a_hybrid_model_stores_no_block_beyond_the_prompt(tokens, stored):
    """It has the last token taken off and still has the whole prompt's hash: a block and two states each."""
    cluster = run_cluster(pair(2, prompt_only=False, sync=True), trace(prompt(tokens)))
    assert [row["status"] for row in rows(cluster)] == ["completed"]
    assert tier(cluster).used_blocks == 3 * stored


def test_no_later_prompt_finds_the_generated_block():
    """The same prompt and 17 tokens more: of the two blocks that were stored it shares one."""
    turns = (prompt(31), turn(60.0, 48, 2, (1, 2, 3)))
    cluster = run_cluster(pair(prompt_only=False), trace(*turns))
    assert [row["local_hit_tokens"] for row in rows(cluster)] == [0, 16]
    assert tier(cluster).used_blocks == 4  # and the second prompt's second and third


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 66), min_size=1, max_size=3),
    answer=st.integers(1, 18),
    state_groups=st.sampled_from([0, 0, 2]),
    prompt_only=st.booleans(),
    sync=st.booleans(),
    roles=st.tuples(st.sampled_from(["kv_both", "kv_producer"]), st.sampled_from(["kv_both", "kv_consumer"])),
    order=st.sampled_from([("nixl", "offload"), ("offload", "nixl")]),
    conditional=st.sampled_from([None, {"eff_isl_threshold": 40, "eff_isl_ratio_threshold": 1.0}]),
)
def test_prompts_of_every_length_are_served_by_every_kind_of_pair(
    *, lengths, answer, state_groups, prompt_only, sync, roles, order, conditional
):
    joined = {"prefill_kv_role": roles[0], "decode_kv_role": roles[1], "connector_order": order}
    if conditional is not None:
        joined["conditional"] = conditional
    prompts = [prompt(n, answer, 40.0 * i, 100 * i + 1) for i, n in enumerate(lengths)]
    cluster = run_cluster(pair(state_groups, prompt_only=prompt_only, sync=sync, **joined), trace(*prompts))
    found = rows(cluster)
    assert {row["status"] for row in found} == {"completed"}
    if not state_groups:
        remote = [row["prompt_tokens"] for row in found if row["worker"] == 0]
        extra = 0 if prompt_only else 1
        assert tier(cluster).used_blocks == sum((tokens + extra) // 16 for tokens in remote)
