"""What was sent to a rank is taken to be there for a while."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sim.kv.runs import BlockRuns
from sim.router import Router, RouterConfig
from sim.router.guesses import ExpiringGuesses
from sim.router.load import Booking
from tests.router.helpers import book_on, query

GUESSING = RouterConfig(use_kv_events=False, ttl_secs=100)


def held(router: Router, blocks: Sequence[int], now_s: float) -> list[int]:
    return [terms.device_blocks for terms in router.terms(query(blocks), now_s)]


def test_the_blocks_of_a_prompt_are_where_it_was_sent_until_their_time_is_up() -> None:
    router = Router(GUESSING, 16, 2)
    assert not router.hears_events
    booking = book_on(router, 1, query([0, 1, 2]), 5.0)
    router.free(booking, 6.0)
    assert held(router, [0, 1, 2, 3], 104.999) == [0, 3]
    assert held(router, [0, 1, 2, 3], 105.0) == [0, 0]


def test_sending_a_prefix_again_starts_its_time_anew_and_not_that_of_what_followed() -> None:
    router = Router(GUESSING, 16, 2)
    book_on(router, 0, query([0, 1, 2, 3]), 0.0)
    book_on(router, 0, query([0, 1, 9]), 50.0)
    assert held(router, [0, 1, 2, 3], 99.0) == [4, 0]
    assert held(router, [0, 1, 2, 3], 100.0) == [2, 0]
    assert held(router, [0, 1, 9], 149.0) == [3, 0]
    assert held(router, [0, 1, 9], 150.0) == [0, 0]


def test_asking_is_not_sending() -> None:
    router = Router(GUESSING, 16, 1)
    router.choose(query([0, 1]), 0.0, 0.5)
    assert held(router, [0, 1], 1.0) == [0]


def test_kv_events_tell_it_nothing() -> None:
    router = Router(GUESSING, 16, 1)
    assert not router.stored(0, None, [0, 1], "device")
    assert held(router, [0, 1], 0.0) == [0]


def test_a_rank_that_is_gone_holds_nothing_and_what_is_sent_there_later_stays_its_whole_time() -> None:
    router = Router(GUESSING, 16, 2)
    book_on(router, 0, query([0, 1]), 0.0)
    book_on(router, 1, query([0, 1]), 0.0)
    router.cleared(0)
    assert held(router, [0, 1], 1.0) == [0, 2]
    book_on(router, 0, query([0]), 2.0)
    assert held(router, [0, 1], 101.0) == [1, 0]


def test_what_is_booked_as_prefill_is_what_is_not_guessed_to_be_there() -> None:
    router = Router(GUESSING, 16, 1)
    book_on(router, 0, query([0, 1]), 0.0)
    assert book_on(router, 0, query([0, 1, 2]), 1.0).prefill_tokens == 17


def test_without_credit_nothing_is_guessed() -> None:
    router = Router(GUESSING.model_copy(update={"overlap_score_credit": 0.0}), 16, 1)
    assert book_on(router, 0, query([0, 1]), 0.0).prefill_tokens == 33
    assert book_on(router, 0, query([0, 1]), 1.0).prefill_tokens == 33


def test_a_prediction_counts_until_events_say_more_or_its_time_is_up() -> None:
    router = Router(RouterConfig(predicted_ttl_secs=5), 16, 2)
    assert router.hears_events
    book_on(router, 0, query([0, 1, 2]), 0.0)
    router.stored(1, None, [0], "device")
    assert held(router, [0, 1, 2, 3], 1.0) == [3, 1]
    router.stored(0, None, [0, 1], "device")
    router.stored(1, 0, [1, 2, 3], "device")
    assert held(router, [0, 1, 2, 3], 2.0) == [3, 4]
    assert held(router, [0, 1, 2, 3], 5.0) == [2, 4]
    book_on(router, 0, query([0, 1, 2]), 6.0)
    router.cleared(0)
    assert held(router, [0, 1, 2, 3], 7.0) == [0, 4]


def test_lower_tiers_go_on_from_the_events_so_that_a_predicted_block_may_count_twice() -> None:
    """A recorded request of Dynamo 1.6.1: 161 tokens, 10 blocks predicted and the same 10 on disk, 25 tokens
    booked. Cached are round((10 + 0.25 * 10) * 16) = 200 tokens, raw is (25 + 0 + 200) / 16."""
    router = Router(RouterConfig(predicted_ttl_secs=600), 16, 1)
    book_on(router, 0, query(range(10), tail_tokens=9), 0.0)
    router.stored(0, None, range(10), "disk")
    booked = router.loads.prefill_tokens[0]
    (terms,) = router.terms(query(range(10)), 1.0)
    assert (terms.device_blocks, terms.disk_blocks, terms.cached_tokens) == (10, 10, 200)
    assert terms.raw_prefill_blocks == (booked + 200) / 16
    assert terms.adjusted_prefill_blocks == (booked + 200) / 16 - 12.5


class Naive:
    """By rank and block, when it leaves."""

    def __init__(self, ranks: int, ttl_s: float) -> None:
        self.ttl_s = ttl_s
        self.until: list[dict[int, float]] = [{} for _ in range(ranks)]

    def depth(self, rank: int, blocks: Sequence[int], now_s: float) -> int:
        until = self.until[rank]
        return next((at for at, block in enumerate(blocks) if until.get(block, 0.0) <= now_s), len(blocks))


PROMPTS = [[0, 1, 2, 3], [0, 1, 2, 9, 10], [0, 1], [20, 21, 22], [20], [0, 30, 31, 32, 33, 34], []]
steps = st.tuples(st.sampled_from(PROMPTS), st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0, 3.0, 7.0]))


@given(st.lists(st.tuples(steps, st.sampled_from(["book", "book", "book", "clear", "ask"])), max_size=40))
def test_agrees_with_times_kept_block_by_block(
    history: list[tuple[tuple[list[int], int, float], str]],
) -> None:
    ranks, now_s = 3, 0.0
    ours, naive = ExpiringGuesses(ranks, 4.0), Naive(ranks, 4.0)
    for (blocks, rank, after_s), what in history:
        now_s += after_s
        if what == "book":
            ours.book(booking(rank), query(blocks), now_s)
            naive.until[rank].update(dict.fromkeys(blocks, now_s + 4.0))
        elif what == "clear":
            ours.cleared(rank)
            naive.until[rank].clear()
        for prompt in PROMPTS:
            depths = ours.depths(BlockRuns.of(prompt), 0b111, now_s)
            assert list(depths) == [naive.depth(rank, prompt, now_s) for rank in range(ranks)]  # type: ignore[arg-type]


def booking(rank: int, isl_tokens: int = 1) -> Booking:
    return Booking(
        request=0,
        rank=rank,
        booked_s=0.0,
        isl_tokens=isl_tokens,
        expected_osl=None,
        credit_tokens=0,
        prefill_tokens=0,
        blocks=(),
        own_blocks=0,
        total_blocks=0,
    )
