"""What holds after every tick of any workload on any pair of engines, and at its end."""

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kv.groups import blocks_for
from tests.cluster.pairs import Pair, build_pair, computed, pulls
from tests.engine.helpers import Prompts
from tests.kv.helpers import blocks_of

LENGTHS = st.tuples(
    st.sampled_from("abc"), st.integers(0, 5), st.integers(1, 40), st.integers(1, 30), st.integers(0, 40)
)


@st.composite
def scenarios(draw: st.DrawFn) -> tuple[dict[str, object], list[tuple[str, int, int, int, int]]]:
    """What `build_pair` takes, and requests: shared label, its blocks, own tokens, answer, arrival."""
    recurrent = draw(st.sampled_from([0, 3]))
    blocks = st.integers(28, 60) if recurrent else st.integers(10, 40)
    roles = draw(st.sampled_from([("kv_both", "kv_both"), ("kv_producer", "kv_consumer")]))
    config: dict[str, object] = {
        "prefill_blocks": draw(blocks),
        "decode_blocks": draw(blocks),
        "recurrent": recurrent,
        "cpu_blocks": draw(st.sampled_from([0, 6, 60])),
        "offload_first": draw(st.booleans()),
        "prefill_role": roles[0],
        "decode_role": roles[1],
        "pull_steps": draw(st.integers(1, 8)),
        "async_scheduling": draw(st.booleans()),
        "max_num_batched_tokens": draw(st.sampled_from([24, 64, 200])),
    }
    return config, draw(st.lists(LENGTHS, min_size=1, max_size=8))


def play(config: dict[str, object], lengths: list[tuple[str, int, int, int, int]]) -> Pair:
    """Run a scenario; after every tick exactly the blocks in somebody's tables are in use."""
    prompts = Prompts()
    pair = build_pair(**config)  # type: ignore[arg-type]
    due = sorted(
        (
            (arrival, prompts.request((label, 16 * blocks), (f"own {index}", own), output=output))
            for index, (label, blocks, own, output, arrival) in enumerate(lengths)
        ),
        key=lambda entry: entry[0],
    )
    for tick in range(30_000):
        while due and due[0][0] <= tick:
            pair.add(due.pop(0)[1])
        pair.tick()
        for number, side in enumerate(pair.sides):
            late = blocks_of(part for plan in side.engine.steps for part in plan.freed_after)
            held = blocks_of(
                part
                for legs in pair.legs.values()
                for table in legs[number].tables
                for part in table.parts.values()
            )
            assert side.engine.cache.pool.used_blocks == len(held | late)
        if pair.livelocked or (not due and all(side.idle for side in pair.sides)):
            return pair
    raise AssertionError("the pair neither ends nor says why not")


class TestInvariants:
    @settings(max_examples=100, deadline=None)
    @given(scenarios())
    def test_every_request_ends_and_every_block_goes_back(
        self, scenario: tuple[dict[str, object], list[tuple[str, int, int, int, int]]]
    ) -> None:
        config, lengths = scenario
        pair = play(config, lengths)
        if pair.livelocked:
            assert config["async_scheduling"]
            return
        assert len(pair.legs) == len(lengths)
        for leg, request in pair.legs.values():
            assert (leg.outputs, request.outputs) == (1, request.output_tokens)
        for side in pair.sides:
            assert side.engine.cache.pool.used_blocks == 0
            assert side.engine.nixl is not None
            assert not side.engine.nixl.held
        self.check_pulls(pair, hybrid=bool(config["recurrent"]))

    def check_pulls(self, pair: Pair, *, hybrid: bool) -> None:
        """Pulled are the blocks that were offered and are not there; what is left to compute is one token."""
        pulled = pulls(pair)
        for number, (leg, request) in pair.legs.items():
            if request.prompt_tokens == 1:
                continue  # a pull leaves it at no computed token: it is looked up once more
            prompt = request.prompt_tokens - hybrid
            assert leg.prompt_tokens == prompt
            if number in pulled:
                offered, got = pulled[number].remote.blocks_by_group, pulled[number].blocks_by_group
                assert offered[-1] == blocks_for(prompt, 16)
                assert got[-1] == offered[-1] - request.local_tokens // 16
                assert got[:-1] == offered[:-1] == (1,) * (3 * hybrid)
                assert request.local_tokens + request.external_tokens == prompt
                assert computed(pair.decode, request)[0] == 1
            else:
                assert request.local_tokens <= prompt
                assert request.external_tokens == 0

    @settings(max_examples=15, deadline=None)
    @given(scenarios())
    def test_the_same_scenario_plays_the_same(
        self, scenario: tuple[dict[str, object], list[tuple[str, int, int, int, int]]]
    ) -> None:
        first, second = (
            [
                [
                    (
                        plan.number,
                        [(request.request_id, tokens) for request, tokens in plan.scheduled],
                        [(pull.request_id, pull.blocks_by_group) for pull in plan.pulls],
                    )
                    for plan in side.plans
                ]
                for side in play(*scenario).sides
            ]
            for _ in range(2)
        )
        assert first == second
