"""What caches truly hold of a prompt is what its engine then hits, and looking changes nothing."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.router.policies import POLICIES
from sim.router.policies.policy import NamedPolicy
from sim.simulation.run import summary_of
from tests.cluster.test_disaggregated import FAST_LINKS
from tests.clusters import HOST_BLOCK_BYTES, named_rows, rows, run_cluster, scenario, trace, turn


def probe(seen, choose=lambda terms, query: query.request % len(terms)):
    """Make a policy that takes ranks in turn and notes what each truly has."""

    def make(config, around):
        def policy(terms, query, draw):
            if around.cached_tokens is not None:
                seen[query.request] = around.cached_tokens(query)
            return terms[choose(terms, query)].rank

        return policy

    return NamedPolicy("probe", make, "a test")


@pytest.fixture
def seen(monkeypatch):
    found: dict[int, list[int]] = {}
    monkeypatch.setitem(POLICIES, "probe", probe(found))
    return found


def prompts(random, requests=14, gap_s=400.0):
    """Prompts that begin alike and come one after another, each when nothing else is served."""
    made, at_s = [], 0.0
    for number in range(requests):
        shared = random.randint(0, 9)
        own = random.randint(0, 4)
        chunks = [*range(shared), *range(1000 * (number + 1), 1000 * (number + 1) + own + 1)]
        made.append(
            turn(at_s, len(chunks) * 16 - random.randint(0, 15), random.randint(1, 3), chunks, str(number))
        )
        at_s += gap_s
    # One is asked twice: of a prompt of full blocks all but the last would be there.
    again = turn(at_s, 64, 2, [1, 2, 3, 4], "again")
    made += [again, turn(at_s + gap_s, 64, 2, [1, 2, 3, 4], "again")]
    made += [turn(at_s + 2 * gap_s, 64, 2, [1, 2, 3, 4], "again")]
    return trace(*made)


OFFLOADS = {
    "none": None,
    "lru": {"cpu_bytes": 24 * HOST_BLOCK_BYTES},
    "arc": {"cpu_bytes": 24 * HOST_BLOCK_BYTES, "eviction_policy": "arc"},
}


@pytest.mark.parametrize("offload", OFFLOADS)
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("state_groups", [0, 2])
@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_an_idle_engine_hits_what_was_seen(seed, state_groups, pair, offload):
    found: dict[int, list[int]] = {}
    workers = {"count": None, "prefill": 2, "decode": 1} if pair else {"count": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(POLICIES, "probe", probe(found))
        cluster = run_cluster(
            scenario(
                state_groups,
                router={"policy": "probe"},
                workers=workers,
                engine={"kv_blocks": 30},
                disaggregation={"network": FAST_LINKS} if pair else {},
                **({"offload": OFFLOADS[offload]} if OFFLOADS[offload] else {}),
            ),
            prompts(Random(seed)),
        )
    taken = {row["index"]: row for row in rows(cluster)}
    hit = {index: row["local_hit_tokens"] + row["external_hit_tokens"] for index, row in taken.items()}
    # A load of the whole prompt computes its last token once more; the look says what is computed.
    said = {index: found[index][row["worker"]] for index, row in taken.items()}
    whole = {index for index, row in taken.items() if hit[index] == row["prompt_tokens"]}
    assert said == {index: tokens - (index in whole) for index, tokens in hit.items()}
    assert any(said.values())


def test_blocks_that_are_being_computed_count_as_the_engine_counts_them(seen):
    # Steps of 1 s and 64 tokens, two of them planned at 0 s: of A 8 blocks are registered, 2 not yet.
    turns = [turn(0, 160, 1, range(10), "a"), turn(0.5, 160, 1, [*range(9), 99], "b")]
    run_cluster(scenario(router={"policy": "probe"}, workers={"count": 1}), trace(*turns))
    assert seen == {0: [0], 1: [128]}


def test_the_decode_pool_s_policy_sees_no_caches(seen):
    settings = scenario(
        router={"policy": "probe"},
        workers={"count": None, "prefill": 1, "decode": 2},
        disaggregation={"network": FAST_LINKS},
    )
    run_cluster(settings, trace(turn(0, 33, 2, [1, 2, 3])))
    assert seen == {0: [0]}  # asked once, by the prefill pool, of one rank


def regretful(**output):
    # A and B begin with the same 48 tokens, which rank 0 has when B goes to rank 1.
    turns = [
        turn(0, 50, 1, [1, 2, 3, 4]),
        turn(30, 50, 1, [1, 2, 3, 5], "b"),
        turn(60, 50, 1, [1, 2, 3, 4], "c"),
    ]
    settings = scenario(router={"policy": "round-robin"}, output={"regret": True, **output})
    return run_cluster(settings, trace(*turns))


def test_regret_is_what_another_worker_had():
    cluster = regretful()
    table = named_rows(cluster.recorder.rows, "decisions")
    found = {(row["request"], row["worker"]): row["regret_tokens"] for row in table}
    assert found == {(0, 0): 0, (0, 1): 0, (1, 0): 0, (1, 1): 48, (2, 0): 0, (2, 1): 0}
    numbers = summary_of(cluster)["router"]
    assert numbers["regret_tokens"] == 48
    assert numbers["regretted_decisions"] == 1
    assert numbers["placed_prompts"] == 3
    assert numbers["regret_share"] == 48 / 150
    # Of the 150 tokens 3 * 2 make no block; the blocks are 1 to 3, which are wanted thrice.
    assert numbers["least_computed_tokens"] == numbers["least_computed_tokens_unbounded"] == 3 * 16 + 3 * 2


def test_regret_is_counted_without_a_table_and_only_when_it_is_asked_for():
    assert summary_of(regretful(tables=()))["router"]["regret_tokens"] == 48
    cluster = regretful(regret=False)
    assert "regret_tokens" not in summary_of(cluster)["router"]
    assert "regret_tokens" not in named_rows(cluster.recorder.rows, "decisions")[0]


def test_an_oracle_has_no_regret_and_looking_changes_no_result():
    requests = prompts(Random(3), gap_s=3.0)

    def run(policy, regret):
        settings = scenario(
            router={"policy": policy},
            engine={"kv_blocks": 30},
            offload=OFFLOADS["arc"],
            output={"regret": regret},
        )
        return run_cluster(settings, requests)

    assert summary_of(run("oracle", True))["router"]["regret_tokens"] == 0
    asked, left_alone = run("round-robin", True), run("round-robin", False)
    assert summary_of(asked)["router"]["regret_tokens"] > 0
    assert rows(asked) == rows(left_alone)


def test_a_prefill_pool_s_regret_is_of_prefill_workers_and_decode_decisions_have_none():
    settings = scenario(
        router={"policy": "round-robin"},
        workers={"count": None, "prefill": 2, "decode": 2},
        disaggregation={"network": FAST_LINKS},
        output={"regret": True},
    )
    cluster = run_cluster(settings, trace(turn(0, 50, 2, [1, 2, 3, 4]), turn(60, 50, 2, [1, 2, 3, 5], "b")))
    table = named_rows(cluster.recorder.rows, "decisions")
    found = {(row["request"], row["leg"], row["worker"]): row["regret_tokens"] for row in table}
    assert found[1, "prefill", 1] == 48
    assert all(regret is None for (_, leg, _), regret in found.items() if leg == "decode")
    assert summary_of(cluster)["router"]["placed_prompts"] == 2


@pytest.mark.parametrize("offload", OFFLOADS)
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("state_groups", [0, 2])
@settings(max_examples=4)
@given(seed=st.integers(0, 10_000), policy=st.sampled_from(["kv", "oracle", "round-robin"]))
def test_no_run_computes_less_than_the_bound(seed, policy, state_groups, pair, offload):
    workers = {"count": None, "prefill": 2, "decode": 1} if pair else {"count": 2}
    cluster = run_cluster(
        scenario(
            state_groups,
            router={"policy": policy},
            workers=workers,
            engine={"kv_blocks": 30},
            disaggregation={"network": FAST_LINKS} if pair else {},
            output={"regret": True},
            **({"offload": OFFLOADS[offload]} if OFFLOADS[offload] else {}),
        ),
        prompts(Random(seed), gap_s=2.0),
    )
    numbers = summary_of(cluster)["router"]
    computed = sum(row["computed_prompt_tokens"] for row in rows(cluster) if row["status"] == "completed")
    assert 0 < numbers["least_computed_tokens_unbounded"] <= numbers["least_computed_tokens"] <= computed
