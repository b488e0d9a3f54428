"""Conditional disaggregation: the rules by hand, and a recorded log."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from sim.router import CostTerms, Query, Router, RouterConfig
from sim.router.conditional import ConditionalDisaggSettings, Reason, Verdict, decide
from sim.router.pools import conditional_decode_stage, prefill_stage
from tests.router.helpers import BLOCK, book_on, load, query

BLANK = CostTerms(*[0] * len(CostTerms._fields))
LOG = Path(__file__).resolve().parents[2] / ".." / "shared" / "vectors" / "router" / "log_samples.txt"


def rank(**fields: int) -> CostTerms:
    return BLANK._replace(**fields)


def short(isl_tokens: int, cached_tokens: int, **settings: Any) -> bool:
    chosen = rank(cached_tokens=cached_tokens)
    return decide(ConditionalDisaggSettings(**settings), isl_tokens, 64, chosen, total_kv_blocks=None).bypass


def test_defaults_are_dynamo_s() -> None:
    settings = ConditionalDisaggSettings()
    assert (settings.policy, settings.eff_isl_threshold, settings.eff_isl_ratio_threshold) == (
        "isl_bounding",
        2048,
        0.7,
    )
    assert (settings.prefill_busy_threshold, settings.decode_busy_threshold) == (None, None)


@pytest.mark.parametrize(
    ("isl_tokens", "cached_tokens", "bypass"),
    [
        (213_000, 213_000 - 2047, True),
        (213_000, 213_000 - 2048, False),  # strictly less than the threshold
        (1000, 301, True),  # 699 of 1000
        (1000, 300, False),  # exactly 0.7
        (100, 0, False),  # short, but nothing of it is cached
        (100, 128, True),  # more cached than asked for: nothing to compute
    ],
)
def test_little_to_compute(isl_tokens: int, cached_tokens: int, bypass: bool) -> None:
    assert short(isl_tokens, cached_tokens) is bypass
    assert short(isl_tokens, cached_tokens, policy="isl_or_load", prefill_busy_threshold=1.0) is bypass
    assert short(isl_tokens, cached_tokens, policy="prefill_load", prefill_busy_threshold=1.0) is False


def test_thresholds_of_one_s_own() -> None:
    assert short(1000, 500, eff_isl_threshold=501)
    assert not short(1000, 500, eff_isl_threshold=500)
    assert not short(1000, 500, eff_isl_ratio_threshold=0.5)


@pytest.mark.parametrize(
    ("booked_tokens", "limit_tokens", "busy"),
    [(4096, 8192, False), (4097, 8192, True), (4097, None, None), (None, 8192, None)],
)
@pytest.mark.parametrize("policy", ["prefill_load", "isl_or_load"])
def test_a_busy_prefill_worker(
    policy: Any, booked_tokens: int | None, limit_tokens: int | None, busy: bool | None
) -> None:
    """Unknown is not busy."""
    settings = ConditionalDisaggSettings(policy=policy, prefill_busy_threshold=0.5)
    prefill = None if booked_tokens is None else rank(active_prefill_tokens=booked_tokens)
    verdict = decide(
        settings,
        50_000,
        64,
        BLANK,
        total_kv_blocks=None,
        prefill=prefill,
        max_num_batched_tokens=limit_tokens,
    )
    assert (verdict.prefill_busy, verdict.bypass) == (busy, busy is True)
    assert verdict.effective_isl_tokens == 50_000


def test_isl_bounding_does_not_look_at_the_prefill_worker() -> None:
    settings = ConditionalDisaggSettings(prefill_busy_threshold=0.0)
    verdict = decide(
        settings,
        50_000,
        64,
        BLANK,
        total_kv_blocks=None,
        prefill=rank(active_prefill_tokens=10**6),
        max_num_batched_tokens=8192,
    )
    assert (verdict.bypass, verdict.prefill_busy) == (False, None)


@pytest.mark.parametrize(
    ("isl_tokens", "total_kv_blocks", "reason", "busy"),
    [
        (640, 100, "bypass_allowed_decode_not_busy", False),  # 80 blocks, of at most 0.8 x 100
        (641, 100, "bypass_denied_decode_busy", True),  # the partial block counts
        (640, 99, "bypass_denied_decode_busy", True),
        (640, None, "bypass_denied_decode_busy_unknown", None),
    ],
)
def test_the_guard_of_the_decode_pool(
    isl_tokens: int, total_kv_blocks: int | None, reason: Reason, busy: bool | None
) -> None:
    settings = ConditionalDisaggSettings(decode_busy_threshold=0.8)
    chosen = rank(cached_tokens=isl_tokens - 1, decode_blocks=80)
    verdict = decide(settings, isl_tokens, 64, chosen, total_kv_blocks=total_kv_blocks)
    blocks = 80 + (isl_tokens % 64 > 0)
    assert verdict == Verdict(reason.startswith("bypass_allowed"), reason, 1, blocks, None, busy)


def test_the_guard_is_not_asked_if_the_policy_declines() -> None:
    settings = ConditionalDisaggSettings(decode_busy_threshold=0.8)
    verdict = decide(settings, 640, 64, rank(decode_blocks=80), total_kv_blocks=10)
    assert verdict == Verdict(False, "bypass_declined_by_policy", 640, 80, None, None)


def test_peeks_book_nothing() -> None:
    decode_setup, prefill_setup = conditional_decode_stage(RouterConfig()), prefill_stage(RouterConfig())
    decode = Router(decode_setup.config, BLOCK, 2, worker_type=decode_setup.worker_type)
    prefill = Router(prefill_setup.config, BLOCK, 2, worker_type=prefill_setup.worker_type)
    for router in (decode, prefill):
        book_on(router, 0, query(range(10)))
    before = load(decode), load(prefill)
    settings = ConditionalDisaggSettings(policy="isl_or_load", prefill_busy_threshold=0.01)
    ask = query(range(10))
    peek, other = decode.choose(ask, 0.0, 0.5), prefill.choose(ask, 0.0, 0.5)
    verdict = decide(
        settings,
        ask.isl_tokens,
        BLOCK,
        peek.chosen,
        total_kv_blocks=100,
        prefill=other.chosen,
        max_num_batched_tokens=8192,
    )
    # Rank 1 is idle in both pools; nothing is cached, and it is not busy.
    assert verdict == Verdict(False, "bypass_declined_by_policy", 161, 11, False, None)
    assert (load(decode), load(prefill)) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "always"}, "policy"),
        ({"eff_isl_threshold": -1}, "eff_isl_threshold"),
        ({"eff_isl_ratio_threshold": 1.1}, "eff_isl_ratio_threshold"),
        ({"prefill_busy_threshold": -0.1}, "prefill_busy_threshold"),
        ({"decode_busy_threshold": float("inf")}, "decode_busy_threshold"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ConditionalDisaggSettings(**settings)


# A log of Dynamo 1.5.0: 100 prompt tokens in blocks of 16, asked twice, two prefill and two decode workers.


@pytest.mark.skipif(not LOG.is_file(), reason="../shared/vectors/router/log_samples.txt is not there")
def test_a_recorded_log() -> None:
    remote, local = recorded_requests()
    decode_setup, prefill_setup = conditional_decode_stage(RouterConfig()), prefill_stage(RouterConfig())
    decode = Router(decode_setup.config, BLOCK, 2, worker_type=decode_setup.worker_type)
    prefill = Router(prefill_setup.config, BLOCK, 2, worker_type=prefill_setup.worker_type)
    settings = ConditionalDisaggSettings()
    prompt = range(6)

    peek = decode.choose(query(prompt, tail_tokens=4), 0.0, 0.0)
    assert sorted(t.cost for t in peek.terms) == remote["costs"][:2]
    assert as_logged(decide(settings, 100, BLOCK, peek.chosen, total_kv_blocks=1000)) == remote["decision"]
    first_leg = prefill.choose(query(prompt, tail_tokens=4, overrides=prefill_setup.overrides), 0.0, 0.0)
    assert sorted(t.cost for t in first_leg.terms) == remote["costs"][2:4]
    second = Query(0, 100, prompt, overrides=decode_setup.overrides)
    second_leg = decode.choose(second, 0.0, 0.0)
    assert sorted(t.cost for t in second_leg.terms) == remote["costs"][4:]
    decode.free(decode.book(second, second_leg.chosen, 0.0), 1.0)

    decode.stored(second_leg.chosen.rank, None, prompt, "device")
    peek = decode.choose(query(prompt, tail_tokens=4), 1.0, 0.0)
    assert sorted(t.cost for t in peek.terms) == sorted(local["costs"])
    assert as_logged(decide(settings, 100, BLOCK, peek.chosen, total_kv_blocks=1000)) == local["decision"]


def as_logged(verdict: Verdict) -> dict[str, object]:
    return {
        "bypass": verdict.bypass,
        "decode_gate_decision": verdict.reason,
        "net_new_tokens": verdict.effective_isl_tokens,
        "potential_decode_blocks": verdict.potential_decode_blocks,
        "decode_chosen_worker_busy": str(verdict.decode_busy),
        "prefill_chosen_worker_busy": str(verdict.prefill_busy),
    }


def recorded_requests() -> list[dict[str, Any]]:
    """Return the costs in order and the decision of each conditional request of the log."""
    requests: dict[str, dict[str, Any]] = {}
    for line in LOG.read_text().splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        request = requests.setdefault(entry["request_id"], {"costs": [], "decision": None})
        cost = re.match(r"Formula .* cached blocks: ([\d.]+) = ", entry["message"])
        if cost:
            request["costs"].append(float(cost[1]))
        elif entry["message"] == "Conditional disagg decision":
            request["decision"] = {
                key: entry[key]
                for key in as_logged(Verdict(False, "bypass_declined_by_policy", 0, 0, None, None))
            }
    return list(requests.values())


def test_the_threshold_of_busy_prefill_falls_back_to_that_of_the_queue() -> None:
    unset = ConditionalDisaggSettings(policy="prefill_load")
    assert unset.beside_queue(0.25).prefill_busy_threshold == 0.25
    assert unset.beside_queue(None).prefill_busy_threshold is None
    given = ConditionalDisaggSettings(policy="prefill_load", prefill_busy_threshold=0.5)
    assert given.beside_queue(0.25).prefill_busy_threshold == 0.5
