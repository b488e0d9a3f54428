"""What is said of a record that is wrong and of a name that is not known."""

import pytest
from pydantic import ValidationError, model_validator

from sim.base.messages import did_you_mean, first_problem
from sim.base.settings import Settings
from sim.base.units import Seconds


class Inner(Settings):
    size: int = 1


class Thing(Settings):
    name: str
    wait_s: Seconds = 0.0
    inner: Inner = Inner()
    sizes: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _agrees(self) -> "Thing":
        if self.name == "bad":
            raise ValueError("bad things are not taken")
        return self


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({}, "name is missing"),
        ({"name": "a", "inner": {"sise": 2}}, "inner.sise: unknown key"),
        ({"name": "a", "inner": {"size": "x" * 80}}, f"inner.size = '{'x' * 56}...: must be a valid integer"),
        ({"name": "a", "wait_s": "1GB"}, "wait_s: '1GB' is not a time"),
        ({"name": "a", "inner": 3}, "inner = 3: must be an object"),
        ({"name": "a", "sizes": 3}, "sizes = 3: must be a list"),
        ({"name": "bad"}, "bad things are not taken"),
    ],
)
def test_the_key_the_value_and_what_is_allowed_are_said(record: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Thing.model_validate(record)
    assert first_problem(raised.value, table="an object").startswith(says)


def test_the_nearest_name_is_suggested_only_when_near() -> None:
    assert did_you_mean("h100", ["h100-80gb"]) == "; did you mean 'h100-80gb'? (known: h100-80gb)"
    assert did_you_mean("b200", []) == " (known: none)"
