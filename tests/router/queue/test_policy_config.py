"""Policy files that are whole, and those that are not."""

import pytest
from pydantic import ValidationError

from sim.router.queue.classes import queue_classes
from sim.router.queue.policy_config import PolicyConfig
from sim.router.queue.settings import QueueSettings
from tests.router.queue.desk import two_classes


def test_a_model_has_a_profile_of_its_own_in_place_of_the_one_for_all():
    other = two_classes()
    other["policy_classes"][0]["name"] = "brief"
    config = PolicyConfig(**two_classes(), models={"m": other})
    first = [config.profile(model).policy_classes[0].name for model in (None, "n", "m")]
    assert first == ["short", "short", "brief"]
    only = PolicyConfig(models={"m": other})
    assert only.profile("n") is None
    settings = QueueSettings(policy_config=only, queue_threshold=2.0)
    fallback = queue_classes(settings, max_num_batched_tokens=100, model="n")
    assert fallback is not None
    assert [(each.name, each.busy_tokens) for each in fallback.classes] == [("default", 200.0)]


def without(key):
    found = two_classes()
    del found[key]
    return found


def other_class(place=0, **changes):
    found = two_classes()
    found["policy_classes"][place] |= changes
    return found


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "all three"),
        (without("uncached_isl_buckets"), "all three"),
        (without("default_policy_family"), "all three"),
        (two_classes() | {"policy_classes": []}, "at least 1"),
        (two_classes() | {"default_policy_family": "gold"}, r'"gold" is none of \[\'std\'\]'),
        (two_classes() | {"uncached_isl_buckets": [{"min_tokens": 1, "bucket": "s"}]}, "begin at 0"),
        (
            two_classes()
            | {"uncached_isl_buckets": [{"min_tokens": 0, "bucket": "s"}, {"min_tokens": 0, "bucket": "l"}]},
            "increase",
        ),
        (other_class(name="long"), '"long" is there 2 times'),
        (other_class(cache_bucket=None), "needs both"),
        (other_class(cache_bucket="x"), "cache_bucket is one of"),
        (other_class(cache_bucket="l"), '0 policy classes for family "std" and bucket "s"'),
        (other_class(cache_bucket=None, policy_family=None, name="std"), "is called as a family"),
        (other_class(quantum=0), "greater than 0"),
        (other_class(queue_policy="lcfs"), "'fcfs' or 'wspt'"),
        (other_class(queue_policy="edf"), "'fcfs' or 'wspt'"),
        (other_class(name="a b"), "pattern"),
        (other_class(prefill_busy_threshold_frac=-1.0), "greater than or equal to 0"),
        (other_class(speed=1), "Extra inputs"),
    ],
)
def test_what_is_not_whole_is_refused(config, message):
    with pytest.raises(ValidationError, match=message):
        PolicyConfig(**config)
