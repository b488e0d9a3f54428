import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.router.cost import Candidate, Prompt, Weights, cost_terms, round_half_away

DEFAULTS = Weights(
    overlap_score_credit=1.0,
    overlap_score_credit_decay=0.0,
    prefill_load_scale=1.0,
    host_cache_hit_weight=0.75,
    disk_cache_hit_weight=0.25,
    decode_active_request_weight=0.0,
    track_prefill_tokens=True,
)


def test_the_talk_s_example() -> None:
    """A prompt of 100 blocks: the busy worker with more of it cached (70) wins over the idle one (90)."""
    prompt = Prompt(isl_tokens=100 * 800, block_size=800, least_prefill_tokens=0)
    busy: Candidate = (0, 20 * 800, 15, 5, 0, 70, 0, 0, 1.0)
    idle: Candidate = (1, 0, 8, 2, 0, 20, 0, 0, 1.0)
    terms = cost_terms(DEFAULTS, prompt, [busy, idle])
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
    prompt = Prompt(isl_tokens=100, block_size=10, least_prefill_tokens=40)
    (terms,) = cost_terms(weights, prompt, [(7, 90, 11, 6, 2, 4, 2, 1, 0.5)])
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


def test_a_partial_block_counts_in_part_as_prefill() -> None:
    (terms,) = cost_terms(DEFAULTS, Prompt(100, 16, 0), [(0, 0, 0, 6, 0, 0, 0, 0, 1.0)])
    assert terms.cost == 6.25 + 6


def test_credit_never_makes_prefill_negative() -> None:
    weights = DEFAULTS._replace(overlap_score_credit=2.0)
    (terms,) = cost_terms(weights, Prompt(160, 16, 0), [(0, 0, 3, 0, 0, 10, 0, 0, 1.0)])
    assert terms.overlap_credit_blocks == 20.0
    assert terms.adjusted_prefill_blocks == 0.0
    assert terms.cost == 3.0


def test_untracked_prefill_costs_nothing_and_does_not_fade_the_credit() -> None:
    weights = DEFAULTS._replace(track_prefill_tokens=False, overlap_score_credit_decay=4.0)
    (terms,) = cost_terms(weights, Prompt(160, 16, 0), [(0, 800, 3, 2, 0, 10, 0, 0, 1.0)])
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
        weights, Prompt(165, 16, 0), [(0, 90, 11, 6, 3, 4, 2, 0, 0.5), (1, 0, 3, 2, 1, 40, 0, 0, 1.0)]
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


loads = st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(0, 99), st.integers(0, 40))


@given(st.lists(loads, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_the_workers_changes_no_cost(workers: list[tuple[int, ...]], shuffler: object) -> None:
    prompt = Prompt(99 * 16 + 5, 16, min(worker[0] for worker in workers))
    weights = DEFAULTS._replace(overlap_score_credit_decay=0.7, decode_active_request_weight=1.3)
    candidates: list[Candidate] = [
        (rank, prefill, active, 99 - device, requests, device, 1, 1, 1.0)
        for rank, (prefill, active, device, requests) in enumerate(workers)
    ]
    shuffled = list(candidates)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    in_order = {terms.rank: terms for terms in cost_terms(weights, prompt, candidates)}
    assert {terms.rank: terms for terms in cost_terms(weights, prompt, shuffled)} == in_order
