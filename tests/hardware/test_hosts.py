"""What hosts do for prompts takes no time unless somebody says so."""

import pytest
from pydantic import ValidationError

from sim.hardware.hosts import HOST_PRIORS, HostCoefficients, HostSettings
from tests.clusters import scenario

NAMES = [*HostCoefficients.model_fields]


def test_unset_all_are_zero():
    assert dict(HostSettings().coefficients()) == dict.fromkeys(NAMES, 0.0)
    assert "hosts" not in scenario().to_dict()
    assert scenario().coefficients().summary == scenario(hosts={"coalesce": True}).coefficients().summary


def test_each_has_a_value_in_a_range_and_a_source():
    assert [*HOST_PRIORS] == NAMES
    assert all(entry.source for entry in HOST_PRIORS.values())


def test_what_was_measured_is_taken_where_nothing_else_is_given():
    found = HostSettings(measured=True, client_s_per_token="1us").coefficients()
    known = {name: entry.value for name, entry in HOST_PRIORS.items()}
    assert dict(found) == known | {"client_s_per_token": 1e-6}


def test_a_draw_moves_what_was_measured_within_its_range_and_nothing_that_is_given():
    settings = HostSettings(measured=True, admit_s_per_token=0.0)
    draws = [settings.coefficients(k) for k in (1, 2, 3)]
    assert len({draw.client_s_per_token for draw in draws}) == 3
    for draw in draws:
        assert draw.admit_s_per_token == 0
        low, high = HOST_PRIORS["client_s_per_token"].range
        assert low <= draw.client_s_per_token <= high


def test_a_scenario_says_which_take_time_and_reads_back_what_it_writes():
    given = scenario(hosts={"client_s_per_token": "0.11us", "handoff_step_s": "50ms"})
    assert given.coefficients().hosts == HostCoefficients(client_s_per_token=0.11e-6, handoff_step_s=0.05)
    assert "hosts take time: client_s_per_token, handoff_step_s;" in given.coefficients().summary
    assert type(given).model_validate(given.to_dict()) == given


@pytest.mark.parametrize("wrong", [{"client_s_per_token": -1}, {"client_s": 1}, {"coalesce": "some"}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValidationError):
        HostSettings(**wrong)
