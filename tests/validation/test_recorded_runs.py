"""Runs of a real small cluster, if their files are beside the repository: how far predictions are off."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sim.measured.run import load_run
from sim.validation.forced import forced
from sim.validation.settings import scenario_of

RUNS = Path(__file__).resolve().parents[3] / "shared" / "measured"


class Found(NamedTuple):
    """What may be off: recomputed tokens in percent, and requests whose cached tokens are wrong."""

    percent: float
    wrong: int


FORCED = {
    ("cpu-agg4", "cpu-agg4-default"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4-default-mc4"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4-pls4"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4-rr"): Found(1.0, 1),
    ("cpu-agg4", "cpu-agg4r-ow0"): Found(0.0, 0),
    ("cpu-agg2", "cpu-agg2-default"): Found(3.0, 0),
    ("cpu-agg2", "cpu-agg2-ow0-mc4"): Found(3.0, 0),
    ("cpu-agg2", "cpu-agg2-rr"): Found(0.0, 0),
    ("cpu-vllm1", "cpu-vllm1-mc4"): Found(0.0, 0),
    ("cpu-vllm1", "cpu-vllm1-open"): Found(1.0, 0),
    ("cpu-off2", "off2-nosd-default"): Found(0.0, 0),
    ("cpu-off2", "off2-sd-default"): Found(0.0, 0),
    ("cpu-2p2d", "pd-2p1d-default"): Found(0.0, 0),
    ("cpu-2p2d", "pd-2p2d-pls4"): Found(0.0, 2),
    ("cpu-2p2d", "pd-2p2d-default"): Found(5.0, 4),
}

pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason=f"no recorded runs at {RUNS}")


@pytest.mark.parametrize(("name", "run"), FORCED)
def test_recomputed_tokens_are_predicted(name: str, run: str) -> None:
    recorded = load_run(RUNS / run)
    found = forced(recorded, scenario_of(recorded, name, ())[0])
    measured, predicted = found.measured["recomputed_tokens"], found.predicted["recomputed_tokens"]
    assert measured is not None
    assert predicted is not None
    percent, wrong = FORCED[name, run]
    assert abs(predicted - measured) <= measured * percent / 100
    assert found.agreement.compared - found.agreement.right <= wrong


def test_the_router_of_a_hybrid_model_credits_what_it_did() -> None:
    recorded = load_run(RUNS / "cpu-gdn2-default")
    found = forced(recorded, scenario_of(recorded, "cpu-gdn2", ())[0])
    assert found.measured["router_tokens"] == 60_400
    assert found.predicted["router_tokens"] == pytest.approx(60_400, rel=0.02)


def test_both_tiers_and_what_the_router_saw_of_them() -> None:
    recorded = load_run(RUNS / "off2-sd-default")
    found = forced(recorded, scenario_of(recorded, "cpu-off2", ())[0])
    for name in ("host_hit_tokens", "local_hit_tokens", "router_tokens", "router_host_blocks"):
        assert found.predicted[name] == pytest.approx(found.measured[name], rel=0.04)
