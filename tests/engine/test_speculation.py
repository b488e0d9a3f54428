"""Drafts: tokens computed, taken back and handed out. Numbers are of vLLM 0.28.0's classes."""

from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from sim.engine.active import ActiveRequest
from sim.engine.settings import EngineSettings, SpeculativeSettings
from sim.engine.speculation import MeanAcceptance, Method, Speculation, draft_rules, speculation_of
from tests.engine.helpers import Driver, Prompts, build


class Given:
    """Accepts what a test says, step by step, whoever asks."""

    def __init__(self, *accepted: int) -> None:
        self._accepted = accepted

    def accepted(self, request_id: int, step: int, drafts: int) -> int:
        return min(self._accepted[step], drafts) if step < len(self._accepted) else 0


def drafting(method: Method, tokens: int, *accepted: int, modules: int = 1) -> Speculation:
    return Speculation(method, tokens, Given(*accepted), modules)


def standing(driver: Driver, request: ActiveRequest) -> list[tuple[int, int]]:
    """Tokens computed and known after each output."""
    seen = []
    while not driver.idle:
        before = request.outputs
        driver.turn()
        if request.outputs != before:
            seen.append((request.computed, request.num_tokens))
    return seen


class TestOneRequest:
    """A prompt of 60, 12 tokens of answer, 3 drafts a step."""

    def test_synchronously(self) -> None:
        driver = build(50, speculation=drafting("eagle3", 3, 3, 0, 1, 3), async_scheduling=False)
        request = Prompts().request(("a", 60), output=12)
        driver.engine.add(request)
        assert standing(driver, request) == [(60, 61), (64, 65), (65, 66), (67, 68), (71, 72)]
        assert driver.engine.cache.pool.used_blocks == 0

    def test_asynchronously_what_is_in_flight_counts_and_a_step_is_wasted(self) -> None:
        driver = build(50, speculation=drafting("eagle3", 3, 3, 0, 1, 3))
        request = Prompts().request(("a", 60), output=12)
        driver.engine.add(request)
        assert standing(driver, request) == [(64, 61), (68, 65), (69, 66), (71, 68), (75, 72)]
        counts = driver.engine.draft_counts
        assert (counts.drafts, counts.draft_tokens, counts.accepted_tokens) == (4, 12, 7)
        assert driver.engine.cache.pool.used_blocks == 0

    def test_slots_are_taken_ahead_of_the_drafter(self) -> None:
        for method, blocks in (("eagle3", [4, 5]), ("ngram", [4, 4])):
            driver = build(50, speculation=drafting(method, 3), async_scheduling=False)  # type: ignore[arg-type]
            request = Prompts().request(("a", 60), output=4)
            driver.engine.add(request)
            held = []
            for _ in blocks:
                driver.turn()
                held.append(request.tables[0].held_blocks)
            assert held == blocks, method

    def test_the_last_step_gives_no_more_than_is_left(self) -> None:
        driver = build(50, speculation=drafting("ngram", 4, 4, 4), async_scheduling=False)
        request = Prompts().request(("a", 20), output=7)
        driver.engine.add(request)
        driver.run()
        assert request.outputs == 7
        assert driver.engine.draft_counts.accepted_tokens == 8  # counted before the cut


class TestBudget:
    def test_a_decode_takes_all_its_drafts_whatever_is_accepted(self) -> None:
        driver = build(
            50, speculation=drafting("ngram", 3), async_scheduling=False, max_num_batched_tokens=70
        )
        prompts = Prompts()
        first, second = prompts.request(("a", 20), output=5), prompts.request(("b", 200))
        driver.engine.add(first)
        driver.turn()
        driver.engine.add(second)
        plan = driver.turn()
        assert plan is not None
        assert [tokens for _, tokens in plan.scheduled] == [4, 66]

    def test_a_draft_model_takes_a_place_of_each_request(self) -> None:
        driver = build(
            50, speculation=drafting("draft_model", 3), async_scheduling=False, max_num_batched_tokens=70
        )
        prompts = Prompts()
        first, second = prompts.request(("a", 20), output=5), prompts.request(("b", 200))
        driver.engine.add(first)
        driver.turn()
        driver.engine.add(second)
        plan = driver.turn()
        assert plan is not None
        assert [tokens for _, tokens in plan.scheduled] == [4, 64]

    def test_several_modules_keep_their_tokens_for_the_last_chunk(self) -> None:
        speculation = drafting("mtp", 3, modules=3)
        driver = build(50, speculation=speculation, async_scheduling=False, max_num_batched_tokens=66)
        driver.engine.add(Prompts().request(("a", 200)))
        assert [plan.scheduled[0][1] for plan in driver.run() if plan.scheduled] == [66, 66, 65, 3]


class TestHits:
    @pytest.mark.parametrize(("method", "hit"), [("eagle3", 32), ("draft_model", 48)])
    def test_eagle_computes_the_last_block_again(self, method: Method, hit: int) -> None:
        driver, prompts = build(50, speculation=drafting(method, 3)), Prompts()
        driver.engine.add(prompts.request(("a", 60)))
        driver.run()
        again = prompts.request(("a", 60), ("b", 20))
        driver.engine.add(again)
        driver.run()
        assert again.local_tokens == hit

    def test_the_last_checkpoint_of_a_prompt_lies_a_block_lower(self) -> None:
        prompts = Prompts(48)
        driver = build(70, 48, 3, speculation=drafting("mtp", 2), max_num_batched_tokens=256)
        driver.engine.add(prompts.request(("a", 300)))
        assert [plan.scheduled[0][1] for plan in driver.run() if plan.scheduled] == [240, 60]
        again = prompts.request(("a", 300), ("b", 10))
        driver.engine.add(again)
        driver.run()
        assert again.local_tokens == 240

    def test_recurrent_groups_hold_a_block_a_draft(self) -> None:
        driver = build(70, 48, 3, speculation=drafting("mtp", 2), max_num_batched_tokens=256)
        request = Prompts(48).request(("a", 300), output=20)
        driver.engine.add(request)
        held = []
        for _ in range(6):
            driver.turn()
            held.append(request.tables[0].held_blocks)
        assert held == [3, 4, 4, 3, 3, 3]


def accepted_share(speculation: Sequence[int]) -> float:
    return sum(speculation) / len(speculation)


@pytest.mark.parametrize("mean", [1.0, 1.7, 2.0, 2.4, 4.0])
def test_accepted_drafts_have_the_mean_that_was_asked_for(mean: float) -> None:
    acceptance = MeanAcceptance(0, mean)
    drawn = [acceptance.accepted(request, step, 3) for request in range(40) for step in range(100)]
    assert set(drawn) <= {int(mean - 1), int(mean)}
    assert accepted_share(drawn) == pytest.approx(mean - 1, abs=0.03)
    assert max(acceptance.accepted(request, 0, 1) for request in range(9)) <= 1


def test_what_a_method_asks_of_the_cache() -> None:
    rules = {
        method: draft_rules(drafting(method, 3)) for method in ("eagle", "dflash", "draft_model", "ngram")
    }
    assert [rule.lookahead_tokens for rule in rules.values()] == [3, 4, 3, 0]
    assert [rule.drops_last_block for rule in rules.values()] == [True, True, False, False]
    assert draft_rules(drafting("mtp", 3, modules=2)).unsettled_tokens == 2
    assert draft_rules(None).tokens == 0
    assert [drafting(method, 4).slots for method in ("dflash", "dspark", "draft_model", "mtp")] == [
        4,
        3,
        1,
        0,
    ]


class TestSettings:
    def test_a_section_becomes_a_value(self) -> None:
        section = SpeculativeSettings(method="mtp", num_speculative_tokens=2, acceptance_length=2.5)
        speculation = speculation_of(section, 7)
        assert speculation is not None
        assert (speculation.method, speculation.tokens, speculation.modules) == ("mtp", 2, 1)
        assert speculation_of(None, 7) is None

    def test_more_than_all_drafts_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="at most 1 \\+ num_speculative_tokens = 3"):
            SpeculativeSettings(method="mtp", num_speculative_tokens=2, acceptance_length=3.1)

    def test_some_methods_know_no_asynchronous_scheduling(self) -> None:
        for method, asynchronous in (("ngram", False), ("eagle", True)):
            section = {"method": method, "num_speculative_tokens": 2, "acceptance_length": 1.5}
            assert EngineSettings.model_validate({"speculative": section}).asynchronous is asynchronous
