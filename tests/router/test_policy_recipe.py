"""CONTRIBUTING's recipe for a policy with a name: what it says is all that it takes."""

from typing import Any

import pytest
from pydantic import ValidationError

from sim import run
from sim.router import RouterConfig
from sim.router.policies import POLICIES, Policy
from tests.recipes import steps

SMALL = {"workload.sessions": 4, "workload.turns": 4}


@pytest.fixture
def most_overlap(monkeypatch: pytest.MonkeyPatch) -> Policy:
    """The recipe, carried out."""
    (code,) = steps("A routing policy")
    written: dict[str, Any] = {}
    exec(code.text, written)
    monkeypatch.setitem(POLICIES, written["POLICY"].name, written["POLICY"])
    policy: Policy = written["most_overlap"]
    return policy


def test_a_policy_added_by_name_sees_what_it_sees_from_python(most_overlap: Policy) -> None:
    by_name = run("agg8", SMALL | {"router.policy": "most-overlap"})
    passed = run("agg8", SMALL, policy=most_overlap)
    assert by_name.numbers["workers_per_session.mean"] == 1.0
    assert by_name.numbers["prefill.recomputation"] < 0.05
    assert by_name.requests.equals(passed.requests)


@pytest.mark.usefixtures("most_overlap")
def test_schema_and_messages_follow() -> None:
    assert RouterConfig.model_json_schema()["properties"]["policy"]["enum"] == [*POLICIES]
    with pytest.raises(
        ValidationError,
        match=r"must be 'consistent-hash-bounded', .*, 'vllm-router-session' or 'most-overlap'",
    ):
        RouterConfig(policy="most_overlap")


def test_what_was_not_added_is_unknown() -> None:
    assert "most-overlap" not in RouterConfig.model_json_schema()["properties"]["policy"]["enum"]
    with pytest.raises(ValidationError, match="must be 'consistent-hash-bounded'"):
        RouterConfig(policy="most-overlap")
