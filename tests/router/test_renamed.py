"""Names and places that only Dynamo 1.6 has for settings."""

from typing import Any

import pytest
from pydantic import ValidationError

from sim.router.config import RouterConfig
from sim.router.renamed import apply_renamed

OF_1_6 = [
    ({"policy": "dynamo-default-cost-fn"}, {"policy": "kv"}),
    ({"prefill_policy": "dynamo-default-cost-fn"}, {"prefill_policy": "kv"}),
    ({"decode_policy": "dynamo-default-cost-fn"}, {"decode_policy": "kv"}),
    ({"prefill_load_model": "ais"}, {"prefill_load_model": "aic"}),
    ({"enable_session_prefix_index": True}, {}),
    ({"policy_config": {"router": {"ttl_secs": 5}}}, {"policy_config": None, "ttl_secs": 5}),
    (
        {"policy_config": {"router": {"router_replica_sync": True}}},
        {"policy_config": None, "replica_sync": True},
    ),
]
SELECTION = {"policy_config": {"worker_selection": {"prefill": "round-robin", "decode": "kv"}}}


@pytest.mark.parametrize(("given", "found"), OF_1_6)
def test_what_1_6_calls_otherwise_is_what_1_5_has(given: dict[str, Any], found: dict[str, Any]) -> None:
    assert apply_renamed({"version": "1.6"} | given) == {"version": "1.6"} | found
    assert apply_renamed({"version": 1.6} | given) == {"version": 1.6} | found


@pytest.mark.parametrize("version", [{}, {"version": "1.5"}], ids=["by default", "1.5"])
@pytest.mark.parametrize("given", [given for given, _ in OF_1_6])
def test_1_5_does_not_know_it(given: dict[str, Any], version: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r'is of Dynamo 1\.6: set version = "1\.6"') as caught:
        RouterConfig(**version, **given)
    (key,) = given
    assert key in str(caught.value)


def test_a_model_that_1_5_calls_otherwise_is_named() -> None:
    with pytest.raises(ValidationError, match=r'set version = "1\.6", or call it "aic"'):
        RouterConfig(prefill_load_model="ais")


@pytest.mark.parametrize("version", ["1.5", "1.6"])
def test_the_policy_file_of_either_release_selects_for_each_pool(version: str) -> None:
    config = RouterConfig(version=version, **SELECTION)
    assert (config.prefill_policy, config.decode_policy) == ("round-robin", "kv")
    assert (config.policy, config.policy_config) == ("kv", None)
    in_pool = {"worker_selection": {"decode": "dynamo-default-cost-fn"}}
    assert RouterConfig(version="1.6", policy_config=in_pool).decode_policy == "kv"


def test_classes_stay_where_they_are_beside_what_is_taken_out() -> None:
    classes = {"default_policy_family": "all"}
    data = {"version": "1.6", "policy_config": classes | {"router": {"ttl_secs": 5}}}
    assert apply_renamed(data)["policy_config"] == classes


def test_the_policy_file_wins_over_a_setting_and_over_the_preset() -> None:
    def in_file(**settings: object) -> dict[str, Any]:
        return {"version": "1.6", "policy_config": {"router": settings}}

    assert RouterConfig(ttl_secs=9, **in_file(ttl_secs=5)).ttl_secs == 5
    config = RouterConfig(load_aware=True, **in_file(use_kv_events=True))
    assert (config.use_kv_events, config.assume_kv_reuse, config.overlap_score_credit) == (True, False, 0)
    assert RouterConfig(**config.model_dump()) == config
    beside = RouterConfig(load_aware=True, **in_file(ttl_secs=5))
    assert (beside.load_aware, beside.use_kv_events) == (True, False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"router": {"temperature": 1}}, r"policy_config\.router may have .*, not \{'temperature': 1\}"),
        ({"router": 3}, r"policy_config\.router may have .*, not 3"),
        (
            {"worker_selection": {"both": "kv"}},
            r"policy_config\.worker_selection may have decode, prefill",
        ),
    ],
)
def test_what_has_no_place_in_the_policy_file_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RouterConfig(version="1.6", policy_config=table)


def test_an_empty_section_says_nothing() -> None:
    assert RouterConfig(version="1.6", policy_config={"router": None}) == RouterConfig(version="1.6")


@pytest.mark.parametrize("data", [None, "1.6", ["version"]])
def test_what_is_no_table_is_left_to_be_refused(data: object) -> None:
    assert apply_renamed(data) is data
