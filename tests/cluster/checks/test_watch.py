"""Runs that are in order: checks find nothing and change nothing. What switches them on, and what is said."""

import pickle
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from sim.base.errors import InvariantError
from sim.cli import app
from sim.cluster.checks.switch import SWITCH, switched_on
from sim.results.metrics import to_json
from sim.simulation.run import run, summary_of
from tests.cluster.checks.broken import aggregated, build
from tests.cluster.test_disaggregated import FAST_LINKS, some_turns
from tests.clusters import HOST_BLOCK_BYTES, RandomCluster, rows, scenario

# -- no rule is broken --------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
@pytest.mark.slow
def test_checks_change_nothing(seed, fast_forward):
    random = RandomCluster(Random(seed))
    engine = random.scenario.engine.model_copy(update={"fast_forward": fast_forward})
    chosen = random.scenario.model_copy(update={"engine": engine})
    checked, plain = (build(chosen, random.trace, check=check) for check in (True, False))
    checked.run()
    plain.run()
    assert to_json(summary_of(checked)) == to_json(summary_of(plain))
    for table in plain.recorder.rows.tables:
        assert rows(checked, table) == rows(plain, table)


def random_pair(random, *, fast_forward):
    """Prefill and decode workers under pressure: few blocks, short leases, slow links and copies."""
    joined = {
        "lease_s": random.choice([0.5, 5.0, 30.0]),
        "heartbeat_interval_s": random.choice([0.0, 1.0, 30.0]),
        "prefill_kv_role": random.choice(["kv_both", "kv_producer"]),
        "decode_kv_role": random.choice(["kv_both", "kv_consumer"]),
        "decode_kv_blocks": random.choice([None, 40]),
        "network": {
            name: link | {"latency_s": random.choice([0.0, 0.5])} for name, link in FAST_LINKS.items()
        },
    }
    if random.random() < 0.3:
        joined["conditional"] = {"eff_isl_threshold": random.choice([20, 60])}
    sections = {
        "workers": {"count": None, "prefill": random.randint(1, 3), "decode": random.randint(1, 3)},
        "engine": {
            "kv_blocks": random.choice([36, 60, 101]),
            "max_num_seqs": random.choice([1, 3, 100]),
            "async_scheduling": random.random() < 0.5,
            "fast_forward": fast_forward,
        },
        "disaggregation": joined,
        "router": {"track_output_blocks": random.random() < 0.3},
        "replay": {"client": random.choice(["open-loop", "max-concurrency", "turn-dependent"])},
    }
    if random.random() < 0.4:
        sections["offload"] = {"cpu_bytes": HOST_BLOCK_BYTES * random.choice([5, 50])}
    if random.random() < 0.5:
        sections["engine"] |= {"version": "0.33", "max_num_queued_reqs": random.choice([None, 5])}
    return scenario(random.choice([0, 0, 3]), **sections)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
@pytest.mark.slow
def test_random_pairs_break_no_rule(seed, fast_forward):
    random = Random(seed)
    chosen = random_pair(random, fast_forward=fast_forward)
    build(chosen, some_turns(seed, sessions=random.randint(1, 8), turns=4), check=True).run()


# -- the switch ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("0", False), ("", False)])
def test_the_environment_switches_checks_on(monkeypatch, value, wanted):
    monkeypatch.setenv(SWITCH, value)
    assert switched_on() is wanted
    assert (build(aggregated())._watch is not None) is wanted


def test_a_run_from_python_is_checked_if_asked():
    small = {"workload.sessions": 1, "workload.turns": 2}
    checked, plain = (run("agg8", small, check=check) for check in (True, False))
    assert to_json(checked.to_dict()) == to_json(plain.to_dict())


# -- what is said -------------------------------------------------------------------------------------------


def test_a_violation_is_a_message_with_the_way_to_see_it_again_and_status_4(monkeypatch):
    def broken(scenario, *, on_progress, check):
        assert check
        raise InvariantError("blocks are conserved", "1 block is lost", request=7, worker=3, now_s=12.5)

    monkeypatch.setattr("sim.simulation.run.run", broken)
    monkeypatch.setattr("sys.argv", ["sim", "run", "agg8", "--set", "title=A b", "--check"])
    found = CliRunner().invoke(app, ["run", "agg8", "--set", "title=A b", "--check"])
    assert found.exit_code == 5
    assert found.stdout == ""
    assert found.stderr.splitlines() == [
        "Error: request 7, worker 3, at 12.5 s: 1 block is lost (rule: blocks are conserved)",
        "This is a fault of the simulator, not of the scenario: please report it, with scenario and trace.",
        "To see it again, equal settings and seed give equal runs: sim run agg8 --set 'title=A b' --check",
    ]


def test_a_violation_keeps_what_it_names_on_its_way_between_processes():
    error = pickle.loads(pickle.dumps(InvariantError("rule", "what", request=1, worker=None, now_s=2.0)))
    assert (error.request, error.worker, error.now_s) == (1, None, 2.0)
    assert str(error) == "request 1, at 2 s: what (rule: rule)"
    assert str(InvariantError("rule", "what")) == "whole run: what (rule: rule)"
