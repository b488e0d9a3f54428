"""Faults as a scenario has them: what is taken, and what is said of those that cannot be."""

from itertools import chain

import pytest

from sim.scenario.faults import Fault
from sim.scenario.load import load_scenario
from sim.scenario.scenario import scenario_schema
from tests.scenarios import MINIMAL, refusal

DEATH = """
[[faults]]
kind = "worker-dies"
worker = 1
at_s = "60s"
back_after_s = "1.5min"
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "a.toml"
        path.write_text(MINIMAL + text)
        return path

    return write


def test_times_take_units_and_defaults_are_those_of_dynamo(file):
    (fault,) = load_scenario(file(DEATH)).faults
    assert (fault.kind, fault.worker, fault.at_s, fault.back_after_s) == ("worker-dies", 1, 60.0, 90.0)
    assert (fault.connections, fault.detected_after_s) == ("close", 10.0)


def test_a_scenario_is_written_and_read_back_with_its_faults(file, tmp_path):
    scenario = load_scenario(file(DEATH))
    (tmp_path / "b.toml").write_text(scenario.to_toml())
    assert load_scenario(tmp_path / "b.toml") == scenario
    assert "faults" not in load_scenario(file("")).to_dict()


@pytest.mark.parametrize("override", ["faults=none", "faults=[]"])
def test_an_override_takes_all_of_them_out(file, override):
    assert load_scenario(file(DEATH), [override]).faults == ()


def test_an_override_gives_others(file):
    override = 'faults=[{kind="slow-gpu", at_s="5s", for_s=1, factor=2}]'
    (fault,) = load_scenario(file(DEATH), [override]).faults
    assert (fault.kind, fault.worker, fault.factor) == ("slow-gpu", None, 2.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("worker = 1", "worker = 2"),
            ": faults: entry 1, worker-dies: worker = 2, but workers go from 0 to 1 (--set faults=none",
        ),
        (('"60s"', '"60 x"'), "line 14: faults[1].at_s: '60 x' is not a time"),
        (('"60s"', "-1"), "faults[1].at_s: -1 is not a time"),
        (
            ('"60s"', "2e9"),
            "faults[1].at_s: 2000000000.0 is not a time: must be less than or equal to 1000000000",
        ),
        (
            ("back_after_s", "back_after"),
            "line 15: faults[1].back_after: unknown key; did you mean 'back_after_s'?",
        ),
        (('at_s = "60s"', ""), "faults[1].at_s: is missing: When it begins"),
        (("worker-dies", "worker-dis"), "faults[1]: has no kind that is known; there are clients-cancel"),
        (("back_after_s = ", "detected_after_s = 5 #"), None),
    ],
)
def test_an_entry_that_cannot_be_is_named(file, change, says):
    text = DEATH.replace(*change)
    if says is None:
        load_scenario(file(text))
    else:
        assert says in refusal(file(text))


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        (
            '{kind="worker-dies",worker=0,at_s=1},{kind="worker-drains",worker=0,at_s=5}',
            "entries 1 and 2 overlap",
        ),
        (
            '{kind="slow-gpu",factor=2,at_s=2,for_s=3},{kind="slow-gpu",worker=1,factor=2,at_s=4,for_s=1}',
            "overlap",
        ),
        ('{kind="link-outage",link="pcie",at_s=1,for_s=1}', "nothing goes over PCIe without offload"),
        ('{kind="link-outage",link="nvlink",at_s=1,for_s=1}', "aggregated workers are not joined by nvlink"),
    ],
)
def test_faults_that_do_not_go_together_are_refused(file, faults, says):
    assert says in refusal(file(""), f"faults=[{faults}]")


def test_faults_of_one_worker_may_follow_each_other(file):
    faults = '{kind="worker-dies",worker=0,at_s=1,back_after_s=4},{kind="worker-dies",worker=0,at_s=5}'
    assert len(load_scenario(file(""), [f"faults=[{faults}]"]).faults) == 2


def test_the_owner_of_a_link_is_there():
    faults = '[{kind="link-outage",link="roce",owner=2,at_s=1,for_s=1}]'
    assert "owner = 2, but nodes go from 0 to 1" in refusal("2p6d", f"faults={faults}")


def test_a_limit_of_length_needs_one_of_number(file):
    assert "migration_limit" in refusal(file(""), "frontend.migration_max_seq_len=4")


def test_the_schema_describes_every_key_of_every_kind():
    schema = scenario_schema()
    kinds = schema["properties"]["faults"]["items"]["discriminator"]["mapping"]
    assert len(kinds) == len(Fault.__origin__.__args__)
    keys = chain.from_iterable(
        schema["$defs"][place.rpartition("/")[2]]["properties"].values() for place in kinds.values()
    )
    assert all(key.get("description") for key in keys)
