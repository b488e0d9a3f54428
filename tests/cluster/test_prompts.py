"""Identities of prompts and of answers that return: chunks and blocks of 16 tokens."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cluster.held import NOTHING, Held
from sim.cluster.prompts import Prompts
from sim.engine.active import ActiveRequest
from sim.kv.prefix import PrefixTable
from sim.workload.request import Answer, Request
from tests.clusters import trace, turn

FIRST, SECOND, FORK = trace(
    turn(0, 40, 25, (1, 2, 3)), turn(1, 80, 4, (1, 2, 4, 5, 6)), turn(2, 96, 4, (1, 2, 7, 8, 9, 10), "fork")
).requests
WHOLE = Answer(0, 40, 65)


def prompts(answers, chunk_tokens=16, block_tokens=16):
    return Prompts(PrefixTable(chunk_tokens, block_tokens), answers)


def ended(record, outputs):
    """Let a request have so many tokens of answer."""
    record.active = ActiveRequest(record.request_id, record.prompt_tokens, outputs, record.blocks)
    record.active.outputs = outputs


def test_an_answer_that_never_returns_has_no_identity_before_an_engine_is_asked():
    record, required_tokens, held = prompts({}).sent(FIRST, 0.0)
    assert (record.sequence, record.returns, required_tokens, held) == (None, False, 40, NOTHING)


def test_a_prompt_begins_with_the_blocks_of_prompt_and_answer_before_it():
    book = prompts({1: WHOLE})
    first = book.sent(FIRST, 0.0).record
    assert first.returns
    assert ([*first.blocks], [*first.sequence]) == ([0, 1], [0, 1, 2, 3])
    ended(first, 25)
    assert book.answered(first) == 64
    record, required_tokens, held = book.sent(SECOND, 0.0)
    assert [*record.blocks][:4] == [0, 1, 2, 3]
    assert (required_tokens, held) == (48, Held(64, 65))
    assert not record.returns


def test_while_the_answer_is_being_made_only_the_prompt_before_it_is_held():
    book = prompts({1: WHOLE})
    book.sent(FIRST, 0.0)
    assert book.sent(SECOND, 0.0).held == Held(40, 65)


def test_a_second_prompt_with_an_answer_holds_what_the_first_did():
    book = prompts({1: WHOLE, 2: Answer(0, 40, 60)})
    book.sent(FIRST, 0.0)
    second, fork = book.sent(SECOND, 0.0).record, book.sent(FORK, 0.0)
    assert [*fork.record.blocks][:3] == [*second.blocks][:3]
    assert [*fork.record.blocks][3] != [*second.blocks][3], "it has other tokens from 60 on"
    assert fork.held == Held(60, 60)


def test_an_answer_that_was_not_sent_yet_or_turned_away_is_not_held():
    book = prompts({1: WHOLE})
    assert book.sent(SECOND, 0.0).held == NOTHING
    assert not book.sent(FIRST, 0.0).record.returns, "nobody is left to hold it"
    book = prompts({1: WHOLE})
    assert book.refused(FIRST, 0.0).required_tokens == 40
    assert book.sent(SECOND, 0.0).held == NOTHING


def test_what_no_prompt_is_left_to_hold_is_forgotten():
    book = prompts({1: WHOLE, 2: WHOLE})
    first = book.sent(FIRST, 0.0).record
    book.sent(SECOND, 0.0)
    book.refused(FORK, 0.0)
    assert not book._sequences
    ended(first, 3)
    assert book.answered(first) == 42


def test_of_an_answer_of_no_tokens_nothing_was_computed():
    book = prompts({1: WHOLE})
    first = book.sent(FIRST, 0.0).record
    assert book.answered(first) == 0
    assert book.sent(SECOND, 0.0).held == Held(40, 65)


def test_chunks_that_were_sent_under_other_names_hold_nothing():
    """A request in between has the later prompt's chunks, without being marked."""
    book = prompts({2: WHOLE})
    stranger = Request(1, "other", 0, 1.0, None, 80, 4, SECOND.chunks)
    later = Request(2, "s", 1, 2.0, None, 80, 4, SECOND.chunks)
    book.sent(FIRST, 0.0)
    blocks = book.sent(stranger, 0.0).record.blocks
    record, required_tokens, held = book.sent(later, 0.0)
    assert (record.blocks, required_tokens, held) == (blocks, 0, NOTHING)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_blocks_are_the_same_exactly_when_all_tokens_before_their_ends_are(seed):
    """Prompts of one conversation, told token by token: each goes on from some earlier prompt and answer."""
    random = Random(seed)
    chunk_tokens, block_tokens = random.choice([(4, 4), (8, 3), (3, 8), (16, 4)])
    texts: list[list[int]] = []  # of prompt and answer
    requests, answers, next_id = [], {}, 0
    for index in range(random.randint(2, 8)):
        kept, chunks = [], []
        if requests and random.random() < 0.8:
            before = random.randrange(index)
            kept, start = texts[before], requests[before].prompt_tokens
            end = random.randint(start + 1, len(kept))
            kept = kept[:end]
            answers[index] = Answer(before, start, end)
            chunks = [*requests[before].chunks[: start // chunk_tokens]]
        text = [*kept, *range(next_id, next_id + random.randint(1, 20))]
        n_chunks = -(-len(text) // chunk_tokens)
        chunks += range(10_000 + next_id, 10_000 + next_id + n_chunks - len(chunks))
        next_id += 100
        output = random.randint(1, 20)
        requests.append(Request(index, str(index), 0, 0.0, None, len(text), output, tuple(chunks)))
        texts.append([*text, *range(next_id, next_id + output)])
        next_id += 100
    book = prompts(answers, chunk_tokens, block_tokens)
    named: dict[tuple[int, ...], int] = {}
    for request, text in zip(requests, texts, strict=True):
        record = book.sent(request, 0.0).record
        blocks = record.sequence if record.returns else record.blocks
        for place, block in enumerate(blocks, start=1):
            assert named.setdefault(tuple(text[: place * block_tokens]), block) == block
    assert len(set(named.values())) == len(named)
