"""One pass over a trace, checked by hand and against a cache of sets."""

from dataclasses import replace

from hypothesis import given

from sim.traces.walk import FIRST, walk
from sim.workload.request import Answer, Request, Trace
from tests.workload.strategies import traces


def request(index: int, session: str, turn: int, prompt: int, chunks: list[int]) -> Request:
    return Request(index, session, turn, float(index), None, prompt, 5, chunks)


SMALL = Trace(
    (
        request(0, "a", 0, 250, [1, 2, 3]),
        request(1, "b", 0, 250, [1, 2, 4]),
        replace(request(2, "a", 1, 300, [1, 2, 5]), answer=Answer(0, 250, 255)),
        request(3, "a", 2, 250, [1, 2, 3]),
        request(4, "b", 1, 450, [1, 6, 7, 8, 9]),
    ),
    100,
    "small",
    answers="returned",
)


def test_reuse_is_that_of_all_earlier_prompts() -> None:
    found = walk(SMALL)
    # b starts as a did; a's third chunk is full in its second turn, and partial in the first and the third.
    assert found.hit_tokens.tolist() == [0, 200, 200, 250, 100]
    assert found.ideal_hit == 750 / 1500
    assert found.session.tolist() == [0, 1, 0, 0, 1]
    assert found.before.tolist() == [FIRST, FIRST, 0, 2, 1]
    assert found.kept_tokens.tolist() == [FIRST, FIRST, 200, 200, 100]
    assert found.answer_tokens.tolist() == [0, 0, 5, 0, 0]
    assert found.later.tolist() == [False, False, True, True, True]


@given(traces())
def test_hits_are_those_of_a_cache_of_prefixes(trace: Trace) -> None:
    seen: set[tuple[object, ...]] = set()
    hits = []
    for one in trace.requests:
        sizes = [trace.chunk_tokens] * (one.prompt_tokens // trace.chunk_tokens)
        sizes += [one.prompt_tokens % trace.chunk_tokens] if one.prompt_tokens % trace.chunk_tokens else []
        chunks = list(zip(one.chunks, sizes, strict=True))
        prefixes = [tuple(chunks[: end + 1]) for end in range(len(chunks))]
        hits.append(sum(chunks[end][1] for end, prefix in enumerate(prefixes) if prefix in seen))
        seen.update(prefixes)
    found = walk(trace)
    assert found.hit_tokens.tolist() == hits
    before = [-1 if number == FIRST else int(found.turn[number]) for number in found.before]
    assert before == (found.turn - 1).tolist()
    # What the turn before has, some earlier prompt has.
    assert (found.kept_tokens[found.later] <= found.hit_tokens[found.later]).all()
