import math
from typing import Any

import pytest
from pydantic import ValidationError

from sim.router.config import RouterConfig
from sim.router.overrides import Overrides
from sim.router.policies import POLICIES, make_policy


def test_defaults_are_dynamo_s() -> None:
    config = RouterConfig()
    assert (config.overlap_score_credit, config.overlap_score_credit_decay) == (1.0, 0.0)
    assert (config.prefill_load_scale, config.decode_active_request_weight) == (1.0, 0.0)
    assert (config.host_cache_hit_weight, config.disk_cache_hit_weight) == (0.75, 0.25)
    assert (config.temperature, config.active_request_expiry_secs) == (0.0, 300.0)
    assert (config.assume_kv_reuse, config.track_active_blocks, config.track_prefill_tokens) == (True,) * 3
    assert config.track_output_blocks is False


@pytest.mark.parametrize(
    "settings",
    [
        {"overlap_score_credit": -0.1},
        {"overlap_score_credit": math.inf},
        {"prefill_load_scale": math.nan},
        {"prefill_load_scale": 1e300},
        {"decode_active_request_weight": 1e300},
        {"host_cache_hit_weight": 1.5},
        {"disk_cache_hit_weight": -1},
        {"temperature": -1},
        {"active_request_expiry_secs": 0.5},
        {"overlap_score_weight": -1},
        {"policy": "fastest"},
        {"router_temperature": 0.5},
    ],
)
def test_what_is_out_of_range_is_refused_by_name(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(ValidationError, match=name):
        RouterConfig(**settings)


@pytest.mark.parametrize("model", [RouterConfig, Overrides])
def test_the_deprecated_weight_wins(model: type[RouterConfig] | type[Overrides]) -> None:
    config = model(overlap_score_weight=2.0, prefill_load_scale=5.0, overlap_score_credit=0.5)
    assert (config.prefill_load_scale, config.overlap_score_credit) == (2.0, 0.5)
    config = model(overlap_score_weight=0.0, overlap_score_credit=0.5)
    assert (config.prefill_load_scale, config.overlap_score_credit) == (0.0, 0.0)


def test_loads_fade_by_the_name_of_each_release() -> None:
    assert RouterConfig(prefill_load_model="aic").prefill_load_model == "aic"
    assert RouterConfig(version="1.6", prefill_load_model="ais").prefill_load_model == "aic"
    assert RouterConfig(prefill_load_model="none") == RouterConfig()


def test_settings_survive_being_written_and_read() -> None:
    config = RouterConfig(overlap_score_weight=0.0, temperature=0.5)
    assert RouterConfig(**config.model_dump()) == config


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_name_makes_a_policy(name: str) -> None:
    assert callable(make_policy(RouterConfig(policy=name)))


def test_every_setting_is_described() -> None:
    for model in (RouterConfig, Overrides):
        properties = model.model_json_schema()["properties"]
        assert all(properties[name].get("description") for name in model.model_fields)
