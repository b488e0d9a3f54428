"""What routing decisions cost, by hand: blocks of 100 tokens."""

import pandas as pd
import pytest

from sim.results.decisions import decision_costs, expected_recomputation
from sim.results.rows import Rows
from sim.scenario.load import load_scenario
from sim.simulation.run import run

KNOWN = {"prompt_tokens": 1_050, "required_tokens": 150}  # 900 tokens known


def request(
    index: int, worker: int | None, recomputed: int = 0, elsewhere: int = 0, **columns: object
) -> dict:
    scheduled = {"first_scheduled_s": 1.0, "recomputed_tokens": recomputed, "elsewhere_tokens": elsewhere}
    return {"index": index, "worker": worker, **KNOWN, **scheduled, **columns}


def choice(request: int, chosen: int, overlaps: dict[int, int], leg: str = "aggregated") -> list[dict]:
    """The candidates of one decision: overlap in blocks by worker, one of them in host memory."""
    return [
        {
            "request": request,
            "leg": leg,
            "now_s": 1.0,
            "worker": worker,
            "chosen": worker == chosen,
            "device_blocks": max(0, blocks - 1),
            "host_blocks": min(1, blocks),
            "disk_blocks": 0,
        }
        for worker, blocks in overlaps.items()
    ]


def frames(requests: list[dict], *decisions: list[dict]) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = Rows()
    for row in requests:
        rows.row("requests", **row)
    for decision in decisions:
        for row in decision:
            rows.row("decisions", **row)
    return rows.frame("requests"), rows.frame("decisions")


def costs(requests: list[dict], *decisions: list[dict]) -> list[dict]:
    return decision_costs(*frames(requests, *decisions), block_tokens=100).to_dict("records")


def test_what_each_candidate_would_recompute() -> None:
    found = expected_recomputation(*frames([request(0, 1)], choice(0, 1, {0: 9, 1: 2, 2: 12})), 100)
    assert found["expected_recomputed_tokens"].tolist() == [0, 700, 0]


def test_a_choice_costs_what_the_best_candidate_would_have_spared() -> None:
    (cost,) = costs([request(0, 1, recomputed=720, elsewhere=600)], choice(0, 1, {0: 8, 1: 2, 2: 5}))
    assert cost == {
        "request": 0,
        "leg": "aggregated",
        "now_s": 1.0,
        "worker": 1,
        "expected_tokens": 700,
        "fewest_worker": 0,
        "fewest_tokens": 100,
        "recomputed_tokens": 720,
        "elsewhere_tokens": 600,
        "cost_tokens": 600,
    }


@pytest.mark.parametrize(
    ("recomputed", "cost"),
    [
        (900, 600),  # a hit failed: no fault of the choice
        (250, 150),  # hit where the index knew of nothing: no loss
        (0, 0),
    ],
)
def test_only_what_index_and_run_agree_on_is_charged(recomputed: int, cost: int) -> None:
    assert costs([request(0, 1, recomputed)], choice(0, 1, {0: 8, 1: 2}))[0]["cost_tokens"] == cost


def test_of_equal_candidates_the_chosen_one_is_the_best() -> None:
    (cost,) = costs([request(0, 2, 500)], choice(0, 2, {0: 4, 1: 4, 2: 4}))
    assert (cost["fewest_worker"], cost["cost_tokens"]) == (2, 0)


def test_the_costliest_come_first_and_equal_ones_by_what_another_worker_held() -> None:
    requests = [request(0, 0, 900), request(1, 0, 900, elsewhere=50), request(2, 0, 900)]
    decisions = (choice(0, 0, {0: 0, 1: 0}), choice(1, 0, {0: 0, 1: 0}), choice(2, 0, {0: 0, 1: 7}))
    assert [cost["request"] for cost in costs(requests, *decisions)] == [2, 1, 0]


def test_only_the_leg_that_placed_the_prefill_counts() -> None:
    served = request(0, 0, 700, decode_worker=5)
    found = costs([served], choice(0, 0, {0: 2, 1: 3}, "prefill"), choice(0, 5, {4: 0, 5: 0}, "decode"))
    assert [(cost["leg"], cost["cost_tokens"]) for cost in found] == [("prefill", 100)]


def test_what_was_never_computed_has_no_cost() -> None:
    unserved = request(0, 0) | {"first_scheduled_s": None}
    (cost,) = costs([unserved], choice(0, 0, {0: 2, 1: 3}))
    assert pd.isna(cost["cost_tokens"])
    assert pd.isna(cost["recomputed_tokens"])
    assert costs([request(0, None)]) == []


@pytest.mark.parametrize("name", ["agg8", "2p6d"])
def test_of_a_run_every_prefill_has_one_cost_and_no_more_than_it_recomputed(name: str) -> None:
    rows = run(load_scenario(name, ["workload.sessions=6", "workload.turns=4"])).rows
    found = decision_costs(rows.frame("requests"), rows.frame("decisions"), 800)
    assert sorted(found["request"]) == list(range(24))
    assert (found["cost_tokens"] <= found["recomputed_tokens"]).all()
    assert (found["fewest_tokens"] <= found["expected_tokens"]).all()
    assert found["cost_tokens"].sum() > 0


def regret_of(chosen: int, regrets: list[int], candidate_costs: list[float]) -> dict:
    """What is found of one decision among three workers with these regrets."""
    candidates = zip(choice(0, chosen, {0: 0, 1: 0, 2: 0}), candidate_costs, strict=True)
    decision = [row | {"cost": cost} for row, cost in candidates]
    requests, decisions = frames([request(0, chosen, recomputed=900)], decision)
    (found,) = decision_costs(requests, decisions.assign(regret_tokens=regrets), 100).to_dict("records")
    return found


def test_regret_is_told_whatever_the_index_knew() -> None:
    found = regret_of(1, [800, 300, 0], [1.0, 2.0, 3.0])

    assert (found["cost_tokens"], found["regret_tokens"], found["oracle_worker"]) == (0, 300, 2)


def test_of_several_that_have_most_the_oracle_takes_the_chosen_one_else_the_cheapest() -> None:
    assert regret_of(2, [0, 300, 0], [1.0, 2.0, 3.0])["oracle_worker"] == 2
    assert regret_of(1, [0, 300, 0], [4.0, 2.0, 3.0])["oracle_worker"] == 2
