"""One routing decision, explained by hand."""

import pandas as pd
import pytest

from sim.base.errors import InputError
from sim.results.explanation import Why
from sim.router.config import RouterConfig
from sim.router.policies import POLICIES, NamedPolicy
from sim.simulation.explain import explain, find_request
from sim.simulation.run import run
from tests.clusters import Pace, scenario, trace, turn
from tests.results.runs import a_pair, two_turns

PAGE = """\
Request 1: session s, turn 1                                                          sent at 10.0 s
router Dynamo 1.5, engine vLLM 0.28
80 prompt tokens, 16 of them in no earlier prompt; blocks of 16 tokens

To a worker that computes prompt and answer, at 10.000 s
cost = 1 x prefill + decode, in blocks
worker  booked  + prompt  - credit  = prefill  active  + new  = decode  cost  to recompute
     0       0         5         4          1       0      5         5     6      0 tokens
   > 1       0         5         0          5       0      5         5    10     64 tokens
Worker 1: a policy passed by the caller chose, 4 blocks above the lowest cost

What it cost afterwards
Status      completed
TTFT        2.00 s
E2E         4.00 s
Hit         0 in GPU memory, 0 loaded from the CPU tier; the router took 0 to be cached
Computed    80 prompt tokens
Recomputed  64: 64 on another worker

Choice with the fewest recomputed tokens: worker 0: 0 tokens expected, 64 less than worker 1, at a
cost 4 blocks lower

· to recompute: tokens of earlier prompts behind the blocks that the index has of a worker
"""


def test_a_decision_is_shown_as_its_sum() -> None:
    assert repr(two_turns().explain(1)).splitlines() == PAGE.splitlines()


def test_it_has_the_terms_the_reason_and_the_alternative() -> None:
    found = two_turns().explain("s:1")
    (choice,) = found.choices
    assert (choice.leg, choice.now_s, choice.chosen, choice.why) == ("aggregated", 10.0, 1, "own-policy")
    assert choice.cheapest == (0,)
    terms = ("worker", "cost", "adjusted_prefill_blocks", "decode_blocks", "expected_recomputed_tokens")
    first, second = ([row[name] for name in terms] for row in choice.candidates)
    assert (first, second) == ([0, 6, 1, 5, 0], [1, 10, 5, 5, 64])
    assert found.fewest is not None
    assert (found.fewest.worker, found.fewest.expected_tokens, found.fewest.cost) == (0, 0, 6.0)
    assert found.fewest.chosen_expected_tokens == 64
    assert found.request["elsewhere_tokens"] == 64
    assert found.to_dict()["choices"][0]["candidates"][1]["chosen"] is True


def test_a_prompt_that_was_turned_away_is_known_to_nobody() -> None:
    # 100 blocks take the second prompt, and the third, which goes beyond it; not the first.
    prompts = [(0, 101), (10, 40), (20, 41)]
    ran = run(
        scenario(),
        trace=trace(*(turn(at_s, 16 * blocks, 1, range(blocks)) for at_s, blocks in prompts)),
        step_time=Pace(),
    )
    rows = ran.requests.set_index("index")
    assert list(rows["status"].loc[range(3)]) == ["rejected", "completed", "completed"]
    assert list(rows["required_tokens"].loc[range(3)]) == [1616, 640, 16]
    assert list(rows["required_block_tokens"].loc[range(3)]) == [1616, 640, 16]
    assert list(rows["first_tokens"].loc[range(3)]) == [0, 640, 16]
    (choice,) = ran.explain(1).choices
    assert [row["expected_recomputed_tokens"] for row in choice.candidates] == [0, 0]
    assert "640 prompt tokens, 640 of them in no earlier prompt" in repr(ran.explain(1))


def test_what_an_earlier_prompt_had_of_one_that_is_turned_away() -> None:
    ran = run(
        scenario(), trace=trace(turn(0, 320, 1, range(20)), turn(9, 1608, 1, range(101))), step_time=Pace()
    )
    refused = ran.requests.set_index("index").loc[1]
    assert (refused["status"], refused["required_tokens"]) == ("rejected", 1288)
    assert refused["required_block_tokens"] == 1288


def test_both_legs_of_a_pair() -> None:
    found = a_pair().explain(0)
    assert [(choice.leg, choice.chosen, choice.why) for choice in found.choices] == [
        ("prefill", 0, "only-candidate"),
        ("decode", 1, "only-candidate"),
    ]
    assert "expected_recomputed_tokens" in found.choices[0].candidates[0]
    assert "expected_recomputed_tokens" not in found.choices[1].candidates[0]
    lines = repr(found).splitlines()
    assert "cost = 1 x prefill, in blocks" in lines
    assert "cost = decode, in blocks" in lines
    assert "KV pulled   3.072 KB in 250 ms" in lines


def row(worker: int, cost: float, *, chosen: bool = False) -> dict[str, object]:
    zeros = dict.fromkeys(("request", "now_s", "device_blocks", "host_blocks", "disk_blocks"), 0)
    return zeros | {"leg": "aggregated", "worker": worker, "cost": cost, "chosen": chosen}


@pytest.mark.parametrize(
    ("costs", "settings", "notes", "why"),
    [
        ([1.0, 2.0], {}, [], "lowest-cost"),
        ([1.0, 1.0], {}, [], "tie"),
        ([1.0], {}, [], "only-candidate"),
        ([1.0, 1.0], {"temperature": 0.5}, [], "temperature"),
        ([1.0, 2.0], {"policy": "round-robin"}, [], "policy"),
        ([1.0, 2.0], {}, ["routing: a policy passed by the caller"], "own-policy"),
    ],
)
def test_what_settled_it(costs: list[float], settings: dict[str, object], notes: list[str], why: Why) -> None:
    served = {"index": 0, "worker": 0, "prompt_tokens": 10, "required_tokens": 10, "recomputed_tokens": 0}
    served["returned_tokens"] = 0
    requests = pd.DataFrame([served | {"elsewhere_tokens": 0, "first_scheduled_s": 0.0}])
    decisions = pd.DataFrame([row(worker, cost, chosen=worker == 0) for worker, cost in enumerate(costs)])
    router = RouterConfig.model_validate(settings)
    found = explain(requests, decisions, 0, block_tokens=16, router=router, notes=notes)
    assert [choice.why for choice in found.choices] == [why]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "by chance, among workers 0, 1 of equal lowest cost"),
        ({"policy": "random"}, "policy random chose, which does not look at caches, at the lowest cost"),
        ({"temperature": 1.0}, "drawn by softmax of the costs, temperature 1, at the lowest cost"),
    ],
)
def test_the_reason_is_told(settings: dict[str, object], says: str) -> None:
    found = run(scenario(router=settings), trace=trace(turn(0, 32, 1, [1, 2])), step_time=Pace()).explain(0)
    assert f"Worker {found.request['worker']}: {says}" in repr(found).splitlines()


def test_of_a_policy_that_reads_caches_no_more_is_said_than_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = NamedPolicy("mine", lambda config, around: lambda terms, query, draw: terms[-1].rank, "this test")
    monkeypatch.setitem(POLICIES, "mine", mine)
    found = run(scenario(router={"policy": "mine"}), trace=trace(turn(0, 32, 1, [1, 2])), step_time=Pace())
    assert "Worker 1: policy mine chose, at the lowest cost" in repr(found.explain(0)).splitlines()


def test_the_weight_of_active_requests_is_a_term() -> None:
    requests = trace(turn(0, 32, 9, [1, 2]), turn(1.5, 32, 1, [3, 4]))
    settings = scenario(router={"decode_active_request_weight": 8.0}, workers={"count": 1})
    found = repr(run(settings, trace=requests, step_time=Pace()).explain(1)).splitlines()
    assert "cost = 1 x prefill + decode + requests, in blocks" in found
    (chosen,) = (line.split() for line in found if line.startswith("   > 0"))
    assert chosen[2:] == ["0", "2", "0", "2", "2", "2", "4", "8", "14", "0", "tokens"]


def test_what_was_never_routed_has_no_choice() -> None:
    requests = trace(turn(0, 6400, 1, range(400)))
    found = run(scenario(), trace=requests, step_time=Pace()).explain(0)
    assert (found.choices, found.fewest) == ((), None)
    lines = repr(found).splitlines()
    assert lines[-1] == "Status  rejected: prompt_exceeds_pool"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "request 2: there is none; indices go from 0 to 1"),
        ("s:2", "request s:2: the turns of s go from 0 to 1"),
        ("t:0", "request t:0: no session is called 't'; there are s"),
        ("first", "request first: give an index, such as 17, or session:turn, such as s:0"),
        ("s:", "request s:: give an index"),
    ],
)
def test_an_unknown_request_is_answered_with_those_that_are_known(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        find_request(two_turns().requests, text)


def test_a_session_may_have_a_colon_in_its_name() -> None:
    requests = pd.DataFrame({"index": [7], "session": ["a:b"], "turn": [3]})
    assert find_request(requests, "a:b:3") == 7


def test_a_request_that_was_tried_again_says_so_once_and_what_is_not_expected_of_it() -> None:
    """A worker dies after 50 ms, of steps of 10 ms and 1 ms a token."""
    broken = scenario(
        frontend={"migration_limit": 1},
        faults=[{"kind": "worker-dies", "worker": 0, "at_s": 0.050}],
        router={"policy": "round-robin"},
    )
    says = repr(run(broken, trace=trace(turn(0, 16, 5, [1])), step_time=Pace(0.010, 0.001)).explain(0))
    assert "1 time, its worker having been lost" in says
    assert "lost workers had computed is in no earlier prompt" in says


def test_a_prompt_that_no_prefill_worker_was_left_for_is_not_said_to_be_conditional() -> None:
    alone = scenario(
        workers={"count": None, "prefill": 1, "decode": 1},
        faults=[{"kind": "worker-dies", "worker": 0, "at_s": 0.5, "detected_after_s": 0}],
    )
    says = repr(run(alone, trace=trace(turn(1, 32, 1, [1, 2])), step_time=Pace()).explain(0))
    assert "without any prefill worker Dynamo leaves this prompt to its decode worker" in says
    assert "conditional" not in says


def regretted(regrets: list[int]) -> str:
    """What is said of the second turn where the workers would regret so much."""
    found = two_turns()
    mine = found.decisions[found.decisions["request"] == 1].assign(regret_tokens=regrets)
    told = explain(found.requests, mine, 1, block_tokens=16, router=found.scenario.router, notes=found.notes)
    return " ".join(str(told).split())


def test_the_oracle_s_choice_is_a_sentence() -> None:
    says = regretted([0, 64])

    assert (
        "By the caches themselves: the oracle would have chosen worker 0: 64 tokens less to compute" in says
    )


def test_a_choice_without_regret_is_said_to_be_the_oracle_s() -> None:
    assert "no candidate truly had more of the prompt than the chosen worker" in regretted([8, 0])


def test_of_a_run_that_nobody_looked_at_nothing_is_said() -> None:
    assert two_turns().explain(1).regret is None
    assert "oracle" not in str(two_turns().explain(1))
