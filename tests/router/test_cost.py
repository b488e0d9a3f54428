import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms, Weights, WorkerState, cost_columns, round_half_away

Candidate = (
    tuple[int, int, int, int, int, int, int, int, float]
    | tuple[int, int, int, int, int, int, int, int, float, int]
)
"""Rank, booked prefill tokens, active blocks, running requests, new blocks, overlap with device, host and
disk, factor of preferred taints, and blocks in a shared cache, if any."""

DEFAULTS = Weights(
    overlap_score_credit=1.0,
    overlap_score_credit_decay=0.0,
    prefill_load_scale=1.0,
    host_cache_hit_weight=0.75,
    disk_cache_hit_weight=0.25,
    decode_active_request_weight=0.0,
    track_prefill_tokens=True,
)


def cost_terms(
    weights: Weights, isl_tokens: int, block_size: int, candidates: Sequence[Candidate]
) -> list[CostTerms]:
    """Return the terms of candidates that are given as rows."""
    ranks, *columns = zip(*candidates, strict=True)
    known = WorkerState(*(np.array(column) for column in columns))
    return list(Candidates(ranks, cost_columns(weights, isl_tokens, block_size, known)))


def test_the_talk_s_example() -> None:
    """A prompt of 100 blocks: the busy worker with more of it cached (70) wins over the idle one (90)."""
    busy: Candidate = (0, 20 * 800, 15, 0, 5, 70, 0, 0, 1.0)
    idle: Candidate = (1, 0, 8, 0, 2, 20, 0, 0, 1.0)
    terms = cost_terms(DEFAULTS, 100 * 800, 800, [busy, idle])
    assert [t.cost for t in terms] == [70.0, 90.0]
    assert [t.adjusted_prefill_blocks for t in terms] == [50.0, 80.0]
    assert [t.decode_blocks for t in terms] == [20, 10]


def test_every_term_of_one_candidate() -> None:
    weights = DEFAULTS._replace(
        overlap_score_credit=0.5,
        overlap_score_credit_decay=2.0,
        prefill_load_scale=3.0,
        decode_active_request_weight=2.5,
    )
    least: Candidate = (6, 40, 0, 0, 0, 0, 0, 0, 1.0)
    _, terms = cost_terms(weights, 100, 10, [least, (7, 90, 11, 2, 6, 4, 2, 1, 0.5)])
    # Excess prefill (90 - 40) / 10 = 5 blocks of a prompt of 10: decay 1 / (1 + 2 * 0.5) = 0.5.
    assert terms.overlap_credit_decay == 0.5
    # 0.5 * 0.5 * 4 + 0.75 * 2 + 0.25 * 1
    assert terms.overlap_credit_blocks == 2.75
    assert terms.raw_prefill_blocks == 19.0
    assert terms.adjusted_prefill_blocks == 16.25
    assert terms.decode_blocks == 17
    assert terms.active_request_cost_blocks == 5.0
    assert terms.cost == (3.0 * 16.25 + 17 + 5.0) * 0.5
    # Booking takes device blocks in full: (4 + 0.75 * 2 + 0.25) * 10 = 57.5 tokens.
    assert terms.cached_tokens == 58
    assert (terms.rank, terms.device_blocks, terms.host_blocks, terms.disk_blocks) == (7, 4, 2, 1)
    assert (terms.active_prefill_tokens, terms.active_blocks, terms.active_requests) == (90, 11, 2)


def test_what_a_shared_cache_has_beyond_the_device_is_forgiven_in_part_and_not_booked_as_cached() -> None:
    """10 blocks; the first has 2 on its device and the cache 4 more, the second has nothing and it 6."""
    first: Candidate = (0, 0, 0, 0, 10, 2, 0, 0, 1.0, 4)
    second: Candidate = (1, 0, 0, 0, 10, 0, 0, 0, 1.0, 6)
    halved = cost_terms(DEFAULTS._replace(shared_cache_multiplier=0.5), 160, 16, [first, second])
    assert [t.overlap_credit_blocks for t in halved] == [2 + 0.5 * 4, 0.5 * 6]
    assert [t.cost for t in halved] == [10 - 4 + 10, 10 - 3 + 10]
    assert [t.cached_tokens for t in halved] == [2 * 16, 0]
    ignored = cost_terms(DEFAULTS, 160, 16, [first, second])
    assert [t.cost for t in ignored] == [18, 20]
    # The credit of the device leaves it alone, and in the decode form it comes off the blocks.
    weights = DEFAULTS._replace(shared_cache_multiplier=0.25, overlap_score_credit=0.0)
    assert [t.cost for t in cost_terms(weights, 160, 16, [first, second])] == [19, 18.5]
    weights = weights._replace(track_prefill_tokens=False, decode_form=True)
    assert [t.cost for t in cost_terms(weights, 160, 16, [first, second])] == [9, 8.5]


def test_a_partial_block_counts_in_part_as_prefill() -> None:
    (terms,) = cost_terms(DEFAULTS, 100, 16, [(0, 0, 0, 0, 6, 0, 0, 0, 1.0)])
    assert terms.cost == 6.25 + 6


def test_credit_never_makes_prefill_negative() -> None:
    weights = DEFAULTS._replace(overlap_score_credit=2.0)
    (terms,) = cost_terms(weights, 160, 16, [(0, 0, 3, 0, 0, 10, 0, 0, 1.0)])
    assert terms.overlap_credit_blocks == 20.0
    assert terms.adjusted_prefill_blocks == 0.0
    assert terms.cost == 3.0


def test_untracked_prefill_costs_nothing_and_does_not_fade_the_credit() -> None:
    weights = DEFAULTS._replace(track_prefill_tokens=False, overlap_score_credit_decay=4.0)
    (terms,) = cost_terms(weights, 160, 16, [(0, 800, 3, 0, 2, 10, 0, 0, 1.0)])
    assert terms.raw_prefill_blocks == 0.0
    assert terms.overlap_credit_decay == 1.0
    assert terms.cost == 5.0


def test_the_decode_form_takes_the_credit_off_the_decode_blocks() -> None:
    weights = DEFAULTS._replace(
        overlap_score_credit=0.5,
        overlap_score_credit_decay=9.0,
        prefill_load_scale=7.0,
        decode_active_request_weight=2.0,
        track_prefill_tokens=False,
        decode_form=True,
    )
    # Credit 0.5 * 4 + 0.75 * 2 = 3.5 of 11 + 6 blocks, and 2 blocks for each of 3 requests; taints halve it.
    # The second has more credit, 0.5 * 40, than its 3 + 2 blocks.
    first, second = cost_terms(
        weights, 165, 16, [(0, 90, 11, 3, 6, 4, 2, 0, 0.5), (1, 0, 3, 1, 2, 40, 0, 0, 1.0)]
    )
    assert first.cost == (17 - 3.5 + 6.0) * 0.5
    assert (first.overlap_credit_blocks, first.overlap_credit_decay) == (3.5, 1.0)
    assert (first.raw_prefill_blocks, first.adjusted_prefill_blocks) == (0.0, 0.0)
    assert second.cost == 2.0


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.0, 0), (0.49999999999999994, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.4, 2)]
)
def test_halves_are_rounded_up(value: float, rounded: int) -> None:
    assert round_half_away(value) == rounded


def test_a_number_stands_for_a_column_of_it() -> None:
    zeros, full = (
        np.zeros(2, np.int64),
        WorkerState(*(np.array(column) for column in zip(*ROWS, strict=True))),
    )
    numbers = full._replace(new_blocks=6, host=0, disk=0, taint_factor=1.0)
    columns = full._replace(new_blocks=zeros + 6, host=zeros, disk=zeros, taint_factor=zeros + 1.0)
    of_numbers, of_columns = (cost_columns(DEFAULTS, 100, 16, known) for known in (numbers, columns))
    assert list(Candidates(range(2), of_numbers)) == list(Candidates(range(2), of_columns))


ROWS = [(90, 11, 2, 6, 4, 0, 0, 1.0), (10, 5, 1, 6, 3, 0, 0, 1.0)]

loads = st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(0, 99), st.integers(0, 40))


@given(st.lists(loads, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_workers_changes_no_cost(workers: list[tuple[int, ...]], shuffler: object) -> None:
    weights = DEFAULTS._replace(overlap_score_credit_decay=0.7, decode_active_request_weight=1.3)
    candidates: list[Candidate] = [
        (rank, prefill, active, requests, 99 - device, device, 1, 1, 1.0)
        for rank, (prefill, active, device, requests) in enumerate(workers)
    ]
    shuffled = list(candidates)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    in_order = {terms.rank: terms for terms in cost_terms(weights, 99 * 16 + 5, 16, candidates)}
    assert {terms.rank: terms for terms in cost_terms(weights, 99 * 16 + 5, 16, shuffled)} == in_order


def by_hand(weights: Weights, isl_tokens: int, block_size: int, least: int, row: Candidate) -> CostTerms:
    """Return one candidate's terms by Python's own numbers, one operation after the other."""
    rank, prefill, active, requests, new, device, host, disk, factor, shared = row
    raw, decay = 0.0, 1.0
    lower = weights.host_cache_hit_weight * host, weights.disk_cache_hit_weight * disk
    cached = math.floor(Fraction((device + lower[0] + lower[1]) * block_size) + Fraction(1, 2))
    if weights.track_prefill_tokens:
        raw = (prefill + isl_tokens) / block_size
        if weights.counts_twice:
            raw = (prefill + max(isl_tokens - cached, 0) + cached) / block_size
        excess = (prefill - least) / block_size / math.ceil(isl_tokens / block_size)
        decay = 1 / (1 + weights.overlap_score_credit_decay * excess)
    credit = weights.overlap_score_credit * decay * device
    if weights.credits_lower_tiers:
        credit = credit + lower[0] + lower[1]
    credit += weights.shared_cache_multiplier * shared
    adjusted = max(raw - credit, 0.0)
    blocks = weights.prefill_load_scale * adjusted + (active + new)
    if weights.decode_form:
        blocks = max(active + new - credit, 0.0)
    busy = weights.decode_active_request_weight * requests
    return CostTerms(
        rank=rank,
        cost=(blocks + busy) * factor,
        prefill_load_scale=weights.prefill_load_scale,
        adjusted_prefill_blocks=adjusted,
        decode_blocks=active + new,
        active_request_cost_blocks=busy,
        raw_prefill_blocks=raw,
        overlap_credit_blocks=credit,
        overlap_credit_decay=decay,
        taint_factor=factor,
        device_blocks=device,
        host_blocks=host,
        disk_blocks=disk,
        cached_tokens=cached,
        active_prefill_tokens=prefill,
        active_blocks=active,
        active_requests=requests,
    )


scales = st.floats(0, 3)
shares = st.floats(0, 1)
rows = st.tuples(
    *[st.integers(0, 10**5)] * 4, *[st.integers(0, 5000)] * 3, st.floats(0.3, 3), st.integers(0, 50)
)


@given(
    st.builds(
        Weights,
        *(scales, scales, scales, shares, shares, scales),
        *(st.booleans(), st.booleans(), scales, st.booleans(), st.booleans()),
    ),
    st.integers(1, 10**6),
    st.sampled_from([1, 10, 16, 800]),
    st.lists(rows, min_size=1, max_size=5),
)
def test_all_candidates_at_once_come_to_the_same_bits_as_one_by_one(
    weights: Weights, isl_tokens: int, block_size: int, workers: list[tuple[float, ...]]
) -> None:
    weights = weights._replace(decode_form=weights.decode_form and not weights.track_prefill_tokens)
    candidates: list[Candidate] = [(rank, *row) for rank, row in enumerate(workers)]  # type: ignore[misc]
    least = min(row[1] for row in candidates)
    singly = [by_hand(weights, isl_tokens, block_size, least, row) for row in candidates]
    # Compared as text: types, the sign of a zero and every bit count.
    assert repr(cost_terms(weights, isl_tokens, block_size, candidates)) == repr(singly)
