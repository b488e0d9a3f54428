"""Which policies are asked for, and the runs that follow."""

import pytest

from sim.base.errors import InputError
from sim.experiments.compare import compare, plan
from sim.experiments.policies import asked_policies, under_policies
from sim.router.policies import POLICIES
from sim.runs.policies import policies_of

SMALL = ["workload.sessions=2", "workload.turns=2"]


def test_names_come_as_a_list_with_commas_or_as_all() -> None:
    assert asked_policies("kv, round-robin") == ["kv", "round-robin"]
    assert asked_policies(["random", "kv"]) == ["random", "kv"]
    assert asked_policies("all") == [*POLICIES]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("kv,round-robbin", r"--policies 'round-robbin': must be .*'kv', .* or 'all'; did you mean 'round-"),
        ("kv,", "--policies '': must be"),
        ("kv,all", "--policies 'all': must be"),
        ("kv,random,kv", "--policies kv: is given twice"),
        ([], "--policies: give at least one"),
    ],
)
def test_what_cannot_be_used_is_refused(asked: str | list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_policies(asked)


def test_one_scenario_gives_names_of_policies_several_put_theirs_before() -> None:
    assert under_policies(["agg8"], ["kv", "random"]) == {
        "kv": ("agg8", ["router.policy=kv", "output.regret=true"]),
        "random": ("agg8", ["router.policy=random", "output.regret=true"]),
    }
    assert [*under_policies(["a", "b"], ["kv", "random"])] == ["a/kv", "a/random", "b/kv", "b/random"]


def test_every_policy_runs_at_every_point_with_every_seed() -> None:
    made = plan(["agg8"], [*SMALL[1:], "workload.sessions=2,4"], 2, policies="kv,random")

    assert made.names == ["kv", "random"]
    assert [
        (job.name, job.scenario.router.policy, job.scenario.workload.sessions, job.scenario.seed)
        for job in made.jobs
    ] == [(name, name, sessions, seed) for sessions in (2, 4) for seed in (0, 1) for name in ("kv", "random")]


def test_the_policy_stands_beside_other_settings_of_the_router_as_a_table() -> None:
    made = plan(["agg8"], ["router={temperature=0.5}"], policies="kv,random")

    assert [(job.scenario.router.policy, job.scenario.router.temperature) for job in made.jobs] == [
        ("kv", 0.5),
        ("random", 0.5),
    ]


def test_a_policy_that_is_set_as_well_is_refused() -> None:
    with pytest.raises(InputError, match=r"--policies, --set router.policy: both say who chooses"):
        plan(["agg8"], ["router.policy=kv"], policies="kv,random")


def test_what_ran_already_takes_no_policies() -> None:
    ran = compare("agg8", overrides=dict(pair.split("=") for pair in SMALL), jobs=1)

    with pytest.raises(InputError, match=r"--policies: agg8 ran already"):
        plan([ran], policies="kv,random")


def test_python_has_the_same_object() -> None:
    overrides = dict(pair.split("=") for pair in SMALL)
    found = compare("agg8", overrides=overrides, policies=["kv", "random"], jobs=1)

    assert policies_of(found) == {"kv": "kv", "random": "random"}
    assert set(found.frame["scenario"]) == {"kv", "random"}
    assert "Routing policies, compared with kv" in str(found)
