"""Runs of a real small cluster, if their files are beside the repository: figures counted by other means."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sim.measured.run import load_run
from sim.measured.summary import summarise

RUNS = Path(__file__).resolve().parents[3] / "shared" / "measured"


class Figures(NamedTuple):
    """What a run came to: tokens of the pool that computes prompts, and what the router did for it."""

    computed: int
    hit: int
    external: int
    recomputed: int
    elsewhere: int
    workers_per_session: float
    ties: int
    router_tokens: int
    equal: int | None
    """Requests of which engine and router agree; None where the engine's account was not recorded."""


FIGURES = {
    "cpu-agg2-default": Figures(53643, 45312, 0, 38768, 8480, 1.75, 5, 46848, None),
    "cpu-agg4-default": Figures(32539, 66416, 0, 17664, 16016, 2.75, 18, 66288, 119),
    "cpu-agg4-pls4": Figures(19531, 79424, 0, 4656, 4656, 1.42, 12, 81040, 113),
    "cpu-agg4-rr": Figures(55675, 43280, 0, 40800, 29408, 3.83, 0, 0, None),
    "cpu-agg4r-ow0": Figures(56987, 41968, 0, 42112, 28112, 3.75, 59, 0, 4),
    "cpu-gdn2-default": Figures(47035, 51920, 0, 28400, 10400, 2.0, 3, 60400, 105),
    "off2-nosd-default": Figures(28139, 45904, 24912, 13264, 9008, 1.92, 13, 46928, 79),
    "off2-sd-default": Figures(26395, 46080, 26480, 11520, 8352, 1.92, 4, 72560, 120),
    "pd-1p2d-default": Figures(27035, 71920, 0, 12160, 0, 1.0, 0, 78176, 110),
    "pd-2p2d-pls4": Figures(17899, 81056, 0, 3024, 3024, 1.5, 1, 80848, 118),
}

pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason=f"no recorded runs at {RUNS}")


@pytest.mark.parametrize("name", FIGURES)
def test_a_run_comes_to_its_figures(name: str) -> None:
    found = summarise(load_run(RUNS / name))
    prefill, overlap = found["prefill"], found["overlap"]
    routed = found["router"].get("prefill") or found["router"]["aggregated"]
    assert found["requests"] == {"total": 120, "completed": 120, "failed": 0, "sessions": 12}
    assert routed["cheapest_taken"] == routed["with_costs"]
    assert FIGURES[name] == Figures(
        *prefill["by_source"].values(),
        prefill["recomputed_block_tokens"],
        prefill["elsewhere_tokens"],
        round(found["workers_per_session"]["mean"], 2),
        routed["ties"],
        overlap["router_tokens"],
        overlap["equal"] if overlap["compared"] else None,
    )


def test_a_lost_worker_is_seen() -> None:
    found = summarise(load_run(RUNS / "pd-2p2d-lost-worker"))
    assert (found["requests"]["completed"], found["requests"]["failed"]) == (41, 79)
    assert found["router"]["decode"]["failed"] == 5
    assert any("found for 41 of 120 requests" in note for note in found["notes"])


def test_jsonl_and_text_logs_of_an_older_router_are_read_alike() -> None:
    for name, ties in (("mocker-agg4-default", 32), ("mocker-agg4-default-jsonl-mc4", 35)):
        found = summarise(load_run(RUNS / name))
        assert found["router"]["aggregated"] == {
            "decisions": 120,
            "with_costs": 120,
            "ties": ties,
            "cheapest_taken": 120,
            "failed": 0,
        }
        assert found["prefill"]["by_source"] is None
