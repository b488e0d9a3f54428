"""The release that each rule is of, and how one is exchanged."""

import pytest
from pydantic import ValidationError

from sim.engine.rule_choice import RuleChoice
from sim.engine.rule_set import RULES, VERSIONS, RuleSet
from sim.engine.settings import EngineSettings


@pytest.mark.parametrize("version", VERSIONS)
def test_all_rules_are_of_the_engine_s_release(version: str) -> None:
    rules = EngineSettings(version=version).rule_set
    assert rules == RULES[version]
    assert {*rules} == {version}


def test_an_engine_is_of_0_28_unless_it_says_otherwise() -> None:
    assert EngineSettings().rule_set == RULES["0.28"]


@pytest.mark.parametrize("rule", RuleSet._fields)
def test_each_rule_can_be_exchanged_by_itself(rule: str) -> None:
    rules = EngineSettings(version="0.33", rules={rule: "0.28"}).rule_set
    assert rules == RULES["0.33"]._replace(**{rule: "0.28"})


def test_settings_name_every_rule() -> None:
    assert tuple(RuleChoice.model_fields) == RuleSet._fields


def test_a_release_without_quotes_is_meant_as_one() -> None:
    assert EngineSettings(version=0.33, rules={"queues": 0.28}).rule_set.queues == "0.28"


def test_another_release_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"'0\.28' or '0\.33'"):
        EngineSettings(version="0.30")


def test_what_stays_findable_is_all_in_0_28_and_what_replays_need_in_0_33() -> None:
    assert EngineSettings().retention_tokens is None
    assert EngineSettings(version="0.33").retention_tokens == 0
    assert EngineSettings(version="0.33", prefix_cache_retention_interval="dense").retention_tokens is None
    assert EngineSettings(version="0.33", prefix_cache_retention_interval=1600).retention_tokens == 1600
