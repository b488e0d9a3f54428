"""Clusters whose engines have windowed groups: fast forward changes nothing, and all checks hold."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv.group_spec import GroupSpec
from tests.cluster.test_disaggregated import pair
from tests.clusters import rows, run_cluster, scenario, trace, turn
from tests.engine.test_decode_run import everything

FULL = GroupSpec("full", 16)
LAYOUTS = [
    (GroupSpec("sliding_window", 16, 40), FULL),
    (GroupSpec("sliding_window", 16, 24), GroupSpec("sliding_window", 16, 64), FULL),
    (GroupSpec("chunked_local", 16, 48), FULL),
    (GroupSpec("sliding_window", 32, 50), FULL),
    (GroupSpec("sliding_window", 8, 20), GroupSpec("sliding_window", 8, 20), FULL),
    (GroupSpec("sliding_window", 16, 40),),
]
DRAFTS = {"method": "eagle3", "num_speculative_tokens": 2, "acceptance_length": 1.8}


def requests(seed: int):
    random = Random(seed)
    turns, chunk = [], 100
    for session in range(random.randint(2, 5)):
        chunks, at_s = [*range(random.randint(0, 6))], random.randint(0, 9)
        for _ in range(random.randint(1, 4)):
            new = random.randint(1, 6)
            chunks += range(chunk, chunk + new)
            chunk += new
            prompt = len(chunks) * 16 - random.randint(0, 15)
            turns.append(turn(float(at_s), prompt, random.randint(1, 90), chunks, str(session)))
            at_s += random.randint(0, 60)
    return trace(*sorted(turns, key=lambda request: request.timestamp_s))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    groups=st.sampled_from(LAYOUTS),
    blocks=st.integers(70, 150),
    sync=st.booleans(),
    offload=st.booleans(),
)
def test_fast_forward_changes_nothing(*, seed, groups, blocks, sync, offload):
    runs = {}
    for fast_forward in (True, False):
        engine = {"kv_blocks": blocks, "async_scheduling": not sync, "fast_forward": fast_forward}
        sections = {"offload": {"cpu_bytes": 40 * 4096}} if offload else {}
        cluster = run_cluster(scenario(engine=engine, **sections), requests(seed), groups=groups)
        runs[fast_forward] = everything(cluster)
        assert all(worker.engine.cache.pool.used_blocks == 0 for worker in cluster.workers)
    assert runs[True] == runs[False]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    groups=st.sampled_from([*LAYOUTS, (FULL,)]),
    blocks=st.integers(70, 150),
    disaggregated=st.booleans(),
)
def test_with_drafts_every_request_gets_its_answer(*, seed, groups, blocks, disaggregated):
    chunked = any(group.kind == "chunked_local" for group in groups)
    drafts = DRAFTS | {"method": "draft_model" if chunked else "eagle3"}
    engine = {"kv_blocks": blocks, "speculative": drafts, "max_num_batched_tokens": 64}
    sent = requests(seed)
    of = pair(engine=engine, decode_kv_role="kv_consumer") if disaggregated else scenario(engine=engine)
    cluster = run_cluster(of, sent, groups=groups)
    answers = {row["index"]: row["output_tokens"] for row in rows(cluster)}
    assert answers == {request.index: request.output_tokens for request in sent.requests}
    assert all(worker.engine.cache.pool.used_blocks == 0 for worker in cluster.workers)


@pytest.mark.parametrize(("groups", "credit"), [(LAYOUTS[0], 6), (LAYOUTS[5], 0), (LAYOUTS[4], 6)])
def test_a_router_sees_full_attention_alone(groups, credit):
    first, again = turn(0.0, 100, 2, range(7)), turn(50.0, 100, 2, range(7), "t")
    cluster = run_cluster(
        scenario(workers={"count": 1}, output={"tables": ["decisions"]}), trace(first, again), groups=groups
    )
    assert [row["device_blocks"] for row in rows(cluster, "decisions")] == [0, credit]
    assert rows(cluster)[1]["local_hit_tokens"] == 96
