import time

import pytest

from sim.kv.runs import BlockRuns
from sim.ledger.account import CAUSES
from sim.ledger.ledger import Ledger


def causes(**tokens):
    return dict.fromkeys(CAUSES, 0) | tokens


def prefill(ledger, index, worker, hit, tokens, **more):
    """Admit, compute everything in one chunk, give the first token."""
    ledger.admitted(index, worker, hit, tokens, False, **more)
    ledger.computed(index, tokens - hit)
    ledger.first_token(index)


def two_equal_prompts(hybrid=False, tokens=35):
    """Two prompts of three blocks of 10 and a tail, sent one after the other, to two workers."""
    ledger = Ledger(block_tokens=10, hybrid=hybrid, workers=2)
    blocks = list(range(1, tokens // 10 + 1))
    ledger.sent(0, blocks, tokens, tokens)
    ledger.sent(1, blocks, tokens, 0)
    return ledger


def test_a_new_prompt_has_first_tokens_only():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 35, 35)
    prefill(ledger, 0, 0, 0, 35)

    account = ledger.account(0)
    assert (account.required_tokens, account.required_block_tokens) == (35, 35)
    assert (account.computed_tokens, account.first_tokens, account.first_block_tokens) == (35, 35, 35)
    assert account.recomputed_tokens == 0
    assert ledger.causes(0) == causes()


def test_after_the_best_possible_hit_only_the_tail_is_recomputed():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    prefill(ledger, 1, 0, 30, 35)

    assert ledger.causes(1) == causes(bound=5)
    assert ledger.account(1).required_block_tokens == 5
    assert ledger.account(1).first_block_tokens == 5


def test_the_block_that_holds_the_last_token_is_bound_too():
    ledger = two_equal_prompts(tokens=30)
    prefill(ledger, 0, 0, 0, 30)
    prefill(ledger, 1, 0, 20, 30)

    assert ledger.causes(1) == causes(bound=10)


def test_a_prefix_known_to_the_middle_of_a_block_is_bound_from_the_blocks_start():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2], 25, 25)
    ledger.sent(1, [1, 2, 3, 4], 45, 20)
    prefill(ledger, 0, 0, 0, 25)
    prefill(ledger, 1, 0, 20, 45)

    assert ledger.causes(1) == causes(bound=5)
    account = ledger.account(1)
    assert (account.first_tokens, account.first_block_tokens) == (20, 25)
    assert (account.required_tokens, account.required_block_tokens) == (20, 25)


def test_a_missing_checkpoint_costs_the_attention_blocks_that_are_here():
    ledger = two_equal_prompts(hybrid=True)
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1, 2])
    ledger.kv(0, True, True, "host", [3])
    ledger.kv(0, True, False, "device", [3])
    prefill(ledger, 1, 0, 0, 35)

    assert ledger.causes(1) == causes(checkpoint=30, bound=5)


def test_a_gap_in_the_attention_blocks_ends_the_blame_on_the_checkpoint():
    ledger = two_equal_prompts(hybrid=True)
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1, 2, 3])
    ledger.kv(0, False, True, "device", [2])
    prefill(ledger, 1, 0, 0, 35)

    assert ledger.causes(1) == causes(checkpoint=10, evicted_here=20, bound=5)


def test_without_recurrent_layers_no_checkpoint_is_missing():
    ledger = two_equal_prompts(hybrid=False)
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1, 2, 3])
    prefill(ledger, 1, 0, 0, 35)

    assert ledger.causes(1) == causes(evicted_here=30, bound=5)


def test_a_request_before_its_first_token_has_its_blocks_in_flight():
    ledger = two_equal_prompts()
    ledger.admitted(0, 0, 0, 35, False)
    ledger.computed(0, 35)
    ledger.kv(0, True, True, "device", [1, 2, 3])
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(in_flight=30, bound=5)


def test_blocks_being_loaded_are_in_flight_and_those_only_used_are_not():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=2)
    for index in range(3):
        ledger.sent(index, [1, 2, 3], 35, 35 if index == 0 else 0)
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1])
    ledger.kv(0, True, True, "host", [2, 3])
    ledger.admitted(1, 0, 30, 35, False, loaded_tokens=20)
    prefill(ledger, 2, 1, 0, 35)

    assert ledger.causes(2) == causes(elsewhere=10, in_flight=20, bound=5)


def test_the_first_cause_that_applies_is_taken():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1, 2, 3])
    ledger.kv(1, True, True, "device", [1])
    ledger.kv(1, False, True, "device", [1])
    ledger.kv(0, False, True, "device", [3])
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(evicted_here=10, elsewhere=10, gone=10, bound=5)


def test_a_second_copy_keeps_a_block_when_the_first_is_evicted():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", [1, 1])
    ledger.kv(0, False, True, "device", [1])
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(elsewhere=10, gone=20, bound=5)


def test_preemption_costs_only_what_the_request_had():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 35, 35)
    ledger.admitted(0, 0, 0, 35, False)
    ledger.computed(0, 23)
    ledger.preempted(0)
    ledger.admitted(0, 0, 10, 35, True)
    ledger.computed(0, 25)

    account = ledger.account(0)
    assert account.causes == causes(preempted=13)
    assert (account.computed_tokens, account.first_tokens, account.first_block_tokens) == (48, 35, 35)


def test_a_hit_lost_by_preemption_is_charged_to_it():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.admitted(1, 0, 30, 35, False)
    ledger.preempted(1)
    ledger.admitted(1, 0, 0, 35, True)
    ledger.computed(1, 35)

    assert ledger.causes(1) == causes(preempted=30, bound=5)


def test_a_second_preemption_earlier_than_the_first_forgets_nothing():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 35, 35)
    for computed in (23, 8):
        ledger.admitted(0, 0, 0, 35, computed == 8)
        ledger.computed(0, computed)
        ledger.preempted(0)
    ledger.admitted(0, 0, 0, 35, True)
    ledger.computed(0, 35)

    assert ledger.causes(0) == causes(preempted=8 + 23)
    assert ledger.account(0).first_tokens == 35


def test_generated_tokens_computed_again_are_counted_apart():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 35, 35)
    prefill(ledger, 0, 0, 0, 35)
    ledger.computed(0, 0, 1)
    ledger.preempted(0)
    # Four tokens are known; three of them have been computed, the fourth was only sampled.
    ledger.admitted(0, 0, 30, 39, True)
    ledger.computed(0, 5, 4)

    account = ledger.account(0)
    assert account.causes == causes(preempted=5)
    assert (account.computed_tokens, account.recomputed_output_tokens) == (40, 3)


def test_a_hit_may_reach_into_the_generated_tokens():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 35, 35)
    prefill(ledger, 0, 0, 0, 35)
    ledger.preempted(0)
    ledger.admitted(0, 0, 40, 50, True)
    ledger.computed(0, 0, 10)

    account = ledger.account(0)
    assert account.recomputed_tokens == 0
    assert account.recomputed_output_tokens == 9


def test_a_preempted_request_is_not_in_flight():
    ledger = two_equal_prompts()
    ledger.admitted(0, 0, 0, 35, False)
    ledger.computed(0, 35)
    ledger.preempted(0)
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(gone=30, bound=5)


def test_a_request_that_ends_early_is_charged_only_what_it_computed():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.admitted(1, 1, 0, 35, False)
    ledger.computed(1, 12)

    account = ledger.ended(1)
    assert account.causes == causes(gone=12)
    assert account.computed_tokens == 12


def test_the_one_who_overtakes_computes_first_tokens_and_the_overtaken_pays():
    ledger = two_equal_prompts()
    prefill(ledger, 1, 1, 0, 35)
    ledger.kv(1, True, True, "device", [1, 2, 3])
    prefill(ledger, 0, 0, 0, 35)

    assert ledger.account(1).first_tokens == 30
    assert ledger.causes(1) == causes(bound=5)
    assert ledger.account(0).first_tokens == 5
    assert ledger.causes(0) == causes(elsewhere=30)


def test_to_be_overtaken_by_the_one_who_was_first_to_need_it_is_in_flight():
    ledger = two_equal_prompts()
    ledger.admitted(1, 1, 0, 35, False)
    prefill(ledger, 0, 0, 0, 35)
    ledger.computed(1, 35)

    assert ledger.causes(1) == causes(in_flight=30, bound=5)
    assert ledger.account(0).recomputed_tokens == 0


def test_hits_on_generated_tokens_leave_fewer_first_tokens_than_required():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    ledger.sent(0, [1, 2, 3], 30, 30)
    ledger.kv(0, True, True, "host", [1, 2, 3])
    prefill(ledger, 0, 0, 29, 30, loaded_tokens=29)

    account = ledger.account(0)
    assert (account.computed_tokens, account.first_tokens, account.required_tokens) == (1, 1, 30)
    assert ledger.causes(0) == causes()


def test_what_a_rejected_request_would_have_needed_is_first_for_the_next():
    ledger = two_equal_prompts()
    assert ledger.ended(0).computed_tokens == 0
    prefill(ledger, 1, 0, 0, 35)

    assert ledger.account(1).first_tokens == 30


def test_two_who_compute_side_by_side_share_the_first_tokens():
    ledger = two_equal_prompts()
    ledger.admitted(0, 0, 0, 35, False)
    ledger.admitted(1, 1, 0, 35, False)
    ledger.computed(0, 10)
    ledger.computed(1, 25)
    ledger.computed(0, 25)

    # The second was known to follow; that it overtook inside block 2 was not.
    assert ledger.causes(1) == causes(in_flight=10)
    assert ledger.causes(0) == causes(in_flight=15)
    assert ledger.account(0).first_tokens + ledger.account(1).first_tokens == 35


def test_more_than_the_prompt_cannot_be_computed():
    ledger = two_equal_prompts()
    ledger.admitted(0, 0, 0, 35, False)
    with pytest.raises(ValueError, match="computed 36 tokens of a prompt of 35"):
        ledger.computed(0, 36)


def test_a_run_of_blocks_may_be_evicted_from_its_end():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", BlockRuns([range(1, 4)]))
    ledger.kv(0, False, True, "device", range(3, 1, -1))
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(elsewhere=10, gone=20, bound=5)


def test_blocks_of_generated_tokens_are_left_out():
    ledger = two_equal_prompts()
    prefill(ledger, 0, 0, 0, 35)
    ledger.kv(0, True, True, "device", range(1, 6))
    ledger.kv(0, False, True, "device", range(5, 2, -1))
    prefill(ledger, 1, 1, 0, 35)

    assert ledger.causes(1) == causes(elsewhere=20, gone=10, bound=5)


def test_a_prompt_costs_by_its_runs_however_many_blocks_they_have():
    def seconds(blocks):
        ledger = Ledger(block_tokens=16, hybrid=True, workers=8)
        ids = BlockRuns([range(blocks)])
        started = time.process_time()
        for index in range(200):
            ledger.sent(index, ids, blocks * 16 + 8, 0 if index else blocks * 16 + 8)
            prefill(ledger, index, index % 8, 0, blocks * 16 + 8)
            ledger.kv(index % 8, True, True, "device", ids)
        return time.process_time() - started

    small, large = (min(seconds(blocks) for _ in range(3)) for blocks in (130, 13_000))
    assert large < 10 * small


def answered(*, blocks=(1, 2), prompt_tokens=25, computed=40, workers=2):
    """A prompt of 25 tokens in blocks of 10 that worker 0 computed; its answer returns, in blocks 3 to 5.

    `computed` tokens of both were computed when it ended.
    """
    ledger = Ledger(block_tokens=10, hybrid=False, workers=workers)
    sequence = BlockRuns([range(1, 6)])
    ledger.sent(0, blocks, prompt_tokens, prompt_tokens)
    ledger.returns(sequence, prompt_tokens)
    prefill(ledger, 0, 0, 0, prompt_tokens)
    ledger.kv(0, True, True, "device", range(1, computed // 10 + 1))
    ledger.answered(sequence, prompt_tokens, computed)
    return ledger


def test_an_answer_that_is_hit_is_required_and_returned_and_nobodys_first():
    ledger = answered()
    ledger.sent(1, [1, 2, 3, 4, 9, 10], 65, 45, held_tokens=40, found_until=40)
    prefill(ledger, 1, 0, 40, 65)

    account = ledger.account(1)
    assert (account.required_tokens, account.required_block_tokens) == (45, 45)
    assert (account.returned_tokens, account.returned_block_tokens) == (20, 20)
    assert (account.first_tokens, account.first_block_tokens) == (25, 25)
    assert account.causes == causes()


def test_an_answer_that_another_worker_decoded_is_computed_again_for_that_cause():
    ledger = answered()
    ledger.sent(1, [1, 2, 3, 4, 9, 10], 65, 45, held_tokens=40, found_until=40)
    prefill(ledger, 1, 1, 0, 65)

    account = ledger.account(1)
    assert account.causes == causes(elsewhere=20, generated=20)
    assert (account.returned_tokens, account.returned_block_tokens, account.first_tokens) == (20, 20, 25)


def test_once_a_prefill_has_computed_an_answer_it_is_elsewhere_like_any_prompt():
    ledger = answered(workers=3)
    for index, worker in ((1, 1), (2, 2)):
        ledger.sent(index, [1, 2, 3, 4, 9, 10], 65, 45 - 45 * (index == 2), held_tokens=40, found_until=40)
        prefill(ledger, index, worker, 0, 65)

    assert ledger.causes(2) == causes(elsewhere=40, gone=20, bound=5)
    assert ledger.account(2).returned_tokens == 0


def test_an_answer_evicted_where_it_was_decoded_is_gone_elsewhere_and_evicted_there():
    for worker, cause in ((0, "evicted_here"), (1, "gone")):
        ledger = answered()
        ledger.kv(0, False, True, "device", range(4, 2, -1))
        ledger.sent(1, [1, 2, 3, 4, 9, 10], 65, 45, held_tokens=40, found_until=40)
        prefill(ledger, 1, worker, 20, 65)
        assert ledger.causes(1) == causes(**{cause: 20})


def test_the_last_tokens_of_an_answer_that_fill_no_block_are_bound():
    ledger = answered(computed=37)
    ledger.sent(1, [1, 2, 3, 8], 45, 25, held_tokens=37, found_until=38)
    prefill(ledger, 1, 0, 30, 45)

    account = ledger.account(1)
    assert account.causes == causes(bound=7)
    assert (account.returned_tokens, account.returned_block_tokens, account.first_tokens) == (17, 10, 8)


def test_what_decode_makes_while_a_prompt_is_on_its_way_returns_only_as_far_as_it_is_hit():
    ledger = Ledger(block_tokens=10, hybrid=False, workers=1)
    sequence = BlockRuns([range(1, 6)])
    ledger.sent(0, [1, 2], 25, 25)
    ledger.returns(sequence, 25)
    prefill(ledger, 0, 0, 0, 25)
    ledger.sent(1, [1, 2, 3, 4, 9, 10], 65, 45, held_tokens=25, found_until=40)
    ledger.kv(0, True, True, "device", range(1, 4))
    prefill(ledger, 1, 0, 30, 65)
    ledger.answered(sequence, 25, 40)

    account = ledger.account(1)
    assert (account.returned_tokens, account.returned_block_tokens, account.first_tokens) == (10, 10, 35)
    assert account.recomputed_tokens == 0


def test_a_preempted_request_returns_each_token_once():
    ledger = answered()
    ledger.sent(1, [1, 2, 3, 4, 9, 10], 65, 45, held_tokens=40, found_until=40)
    ledger.admitted(1, 0, 30, 65, False)
    ledger.computed(1, 5)
    ledger.preempted(1)
    ledger.admitted(1, 0, 20, 65, True)
    assert ledger.account(1).returned_tokens == 15
    ledger.computed(1, 45)

    account = ledger.account(1)
    assert (account.returned_tokens, account.returned_block_tokens) == (20, 20)
    assert account.causes == causes(preempted=15, evicted_here=10)
    assert (account.computed_tokens, account.first_tokens) == (50, 25)


def test_a_request_that_never_starts_returns_nothing():
    ledger = answered()
    ledger.sent(1, [1, 2, 3, 4], 40, 20, held_tokens=40, found_until=40)
    assert ledger.ended(1).returned_tokens == 0
