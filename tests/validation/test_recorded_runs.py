"""Runs of a real small cluster, if their files are beside the repository: how far predictions are off."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sim.measured.run import load_run
from sim.validation.case import ValidationCase
from sim.validation.predictions.replayed_routing import replayed_routing
from sim.validation.replay.settings import scenario_of

RUNS = Path(__file__).resolve().parents[3] / "shared" / "measured"


class Found(NamedTuple):
    """What may be off, in percent; and requests whose cached tokens are wrong."""

    recomputed: float
    wrong: int
    decode_hits: float = 0.0
    """Also blocks pulled."""
    same_blocks: float = 99.9
    """Least share of prompt blocks, one by one, that the engine held and the replay did: mean over a run."""


FORCED = {
    ("cpu-agg4", "cpu-agg4-default"): Found(0.0, 0, same_blocks=99.7),
    ("cpu-agg4", "cpu-agg4-default-mc4"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4-ow0"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4-pls4"): Found(0.0, 0, same_blocks=99.5),
    ("cpu-agg4", "cpu-agg4-rr"): Found(0.0, 0, same_blocks=99.7),
    ("cpu-agg4", "cpu-agg4r-default"): Found(0.0, 0),
    ("cpu-agg4", "cpu-agg4r-ow0"): Found(0.0, 0),
    ("cpu-agg2", "cpu-agg2-default"): Found(2.0, 0, same_blocks=98.8),
    ("cpu-agg2", "cpu-agg2-ow0-mc4"): Found(0.4, 0, same_blocks=99.5),
    ("cpu-agg2", "cpu-agg2-rr"): Found(0.0, 0, same_blocks=99.7),
    ("cpu-gdn2", "cpu-gdn2-default"): Found(0.0, 0, same_blocks=99.2),
    ("cpu-vllm1", "cpu-vllm1-mc4"): Found(0.1, 0),
    ("cpu-vllm1", "cpu-vllm1-open"): Found(0.9, 0),
    ("cpu-off2", "off2-nosd-default"): Found(0.0, 0, same_blocks=97.7),
    ("cpu-off2", "off2-sd-default"): Found(0.0, 0, same_blocks=99.9),
    ("cpu-1p2d", "pd-1p2d-default"): Found(0.2, 1, 0.1, 98.2),
    ("cpu-1p2d", "pd-1p2d-default-mc4"): Found(0.0, 0, 0.0, 98.5),
    ("cpu-2p2d", "pd-2p1d-default"): Found(0.0, 0, 0.9, 96.6),
    ("cpu-2p2d", "pd-2p2d-default"): Found(0.3, 1, 1.5, 95.1),
    ("cpu-2p2d", "pd-2p2d-default-mc4"): Found(0.2, 2, 1.7, 97.8),
    ("cpu-2p2d", "pd-2p2d-default-r2"): Found(0.0, 0, 1.7, 95.5),
    ("cpu-2p2d", "pd-2p2d-ow0"): Found(3.3, 2, 6.7, 90.3),
    ("cpu-2p2d", "pd-2p2d-pls4"): Found(0.0, 0, 0.3, 94.8),
}

pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason=f"no recorded runs at {RUNS}")


@pytest.mark.parametrize(("name", "run"), FORCED)
@pytest.mark.slow
def test_caching_is_predicted(name: str, run: str) -> None:
    recorded = load_run(RUNS / run)
    found = replayed_routing(ValidationCase(recorded, scenario_of(recorded, name, ())[0]))
    expected = FORCED[name, run]
    limits = {
        "recomputed_tokens": expected.recomputed,
        "decode_hit_tokens": expected.decode_hits,
        "pulled_blocks": expected.decode_hits,
    }
    for quantity, percent in limits.items():
        measured, predicted = found.measured[quantity], found.predicted[quantity]
        assert (measured is None) == (predicted is None)
        if measured is not None and predicted is not None:
            assert abs(predicted - measured) <= measured * percent / 100, quantity
    assert found.agreement.compared - found.agreement.right <= expected.wrong
    for worker in found.held_blocks:
        # Sums of shares are not exact.
        assert worker.mean_share_same >= expected.same_blocks / 100 - 1e-9, worker


def test_the_router_of_a_hybrid_model_credits_what_it_did() -> None:
    recorded = load_run(RUNS / "cpu-gdn2-default")
    found = replayed_routing(ValidationCase(recorded, scenario_of(recorded, "cpu-gdn2", ())[0]))
    assert found.measured["router_tokens"] == 60_400
    assert found.predicted["router_tokens"] == pytest.approx(60_400, rel=0.02)


def test_both_tiers_and_what_the_router_saw_of_them() -> None:
    recorded = load_run(RUNS / "off2-sd-default")
    found = replayed_routing(ValidationCase(recorded, scenario_of(recorded, "cpu-off2", ())[0]))
    for name in ("host_hit_tokens", "local_hit_tokens", "router_tokens", "router_host_blocks"):
        assert found.predicted[name] == pytest.approx(found.measured[name], rel=0.04)
