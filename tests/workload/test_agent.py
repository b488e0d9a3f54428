"""Generated sessions as a trace: chunk ids, timestamps, which turns, nested sets."""

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from sim.base.errors import InputError
from sim.kv.prefix import PrefixTable
from sim.kv.runs import BlockRuns
from sim.workload.agent import CHUNK_TOKENS, generate
from sim.workload.conversation import Conversation
from sim.workload.profiles import profile_named, recorded_service_s
from sim.workload.request import Request, Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return generate("talk", sessions=28, seed=0, turns=20)


def sessions_of(trace: Trace) -> list[list[Request]]:
    return [[r for r in trace.requests if r.session == session] for session in trace.sessions]


def test_the_talks_run_is_28_sessions_of_20_turns(trace: Trace) -> None:
    assert len(trace.requests) == 560
    assert [len(session) for session in sessions_of(trace)] == [20] * 28
    assert [request.index for request in trace.requests] == list(range(560))
    assert trace.chunk_tokens == CHUNK_TOKENS
    assert trace.notes == (
        "generated from profile talk, seed 0: 28 sessions, the middle 20 turns of each (0 have fewer)",
    )


def test_the_middle_turns_have_the_contexts_of_whole_sessions_and_the_first_turns_do_not(
    trace: Trace,
) -> None:
    """Of the 53 recorded sessions the middle 20 turns have 269K tokens, the first 20 have 216K."""
    first = generate("talk", sessions=28, seed=0, turns=20, window="first")
    assert np.median([r.prompt_tokens for r in trace.requests]) == pytest.approx(269_000, rel=0.15)
    assert np.median([r.prompt_tokens for r in first.requests]) == pytest.approx(216_000, rel=0.20)


def test_ideal_reuse_is_that_of_recorded_windows(trace: Trace) -> None:
    """Recorded windows of this size: 93 %, about 1K new tokens a turn, with the first turn of each cold."""
    table = PrefixTable(CHUNK_TOKENS, 800)
    required = [table.add(r.chunks, r.prompt_tokens).required_tokens for r in trace.requests]
    assert 1 - sum(required) / sum(r.prompt_tokens for r in trace.requests) == pytest.approx(0.935, abs=0.015)
    later = [n for n, request in zip(required, trace.requests, strict=True) if request.turn]
    assert np.median(later) == pytest.approx(1_068, rel=0.10)


def test_a_turn_repeats_the_full_chunks_that_it_keeps_and_no_other() -> None:
    """Seed 3 draws a long first session with compactions and breaks."""
    requests = generate("kct", sessions=1, seed=3).requests
    turns = list(Conversation(profile_named("kct"), 3, 0).turns())
    assert sum(turn.prompt_tokens < before.prompt_tokens for before, turn in pairwise(turns)) == 3
    assert sum(turn.kept_tokens < before.prompt_tokens for before, turn in pairwise(turns)) == 6
    for before, request, turn in zip(requests, requests[1:], turns[1:], strict=False):
        n_kept = turn.kept_tokens // CHUNK_TOKENS
        assert request.chunks[:n_kept] == before.chunks[:n_kept]
        assert set(request.chunks[n_kept:]).isdisjoint(before.chunks)


def test_every_chunk_of_a_prompt_has_one_id_and_ids_fit_64_bits(trace: Trace) -> None:
    for request in trace.requests:
        assert len(request.chunks) == -(-request.prompt_tokens // CHUNK_TOKENS)
        assert len(set(request.chunks)) == len(request.chunks)
        assert 0 <= min(request.chunks) <= max(request.chunks) < 2**64


def test_only_the_start_of_a_prompt_is_shared_between_sessions(trace: Trace) -> None:
    first = {session[0].session: session[0].chunks for session in sessions_of(trace)}
    shared = [
        [a == b for a, b in zip(left, right, strict=False)]
        for name, left in first.items()
        for other, right in first.items()
        if name < other
    ]
    assert any(any(equal) for equal in shared)
    assert all(
        equal == sorted(equal, reverse=True) and sum(equal) * CHUNK_TOKENS <= 21_500 for equal in shared
    )


def test_timestamps_are_the_recorded_service_and_the_think_time_after_the_turn_before(trace: Trace) -> None:
    for number, session in enumerate(sessions_of(trace)):
        assert (session[0].timestamp_s, session[0].delay_s) == (number * 0.5, None)
        for before, request in pairwise(session):
            service_s = recorded_service_s(before.prompt_tokens, before.output_tokens)
            assert timestamp(request) == pytest.approx(timestamp(before) + service_s + delay(request))
            assert 0 < delay(request) <= 60.0
    assert list(map(timestamp, trace.requests)) == sorted(map(timestamp, trace.requests))


def timestamp(request: Request) -> float:
    assert request.timestamp_s is not None
    return request.timestamp_s


def delay(request: Request) -> float:
    assert request.delay_s is not None
    return request.delay_s


def test_recorded_service_is_the_fit_of_the_recorded_api() -> None:
    assert recorded_service_s(213_000, 262) == pytest.approx(1.08 + 4.0 + 3.3654)


def test_think_times_are_cut_only_where_asked() -> None:
    for max_think_s, least, most in ((inf, 3_600, inf), (5.0, 5.0, 5.0)):
        requests = generate("talk", sessions=10, seed=0, max_think_s=max_think_s).requests
        assert least <= max(delay(request) for request in requests if request.turn) <= most


def test_smaller_sets_are_part_of_larger_ones(trace: Trace) -> None:
    few = generate("talk", sessions=4, seed=0, turns=20)
    assert few.sessions == trace.sessions[:4]
    of_few = [request for request in trace.requests if request.session in few.sessions]
    assert list(map(without_indices, few.requests)) == list(map(without_indices, of_few))


def without_indices(request: Request) -> Request:
    answer = request.answer and request.answer._replace(request=0)
    return replace(request, index=0, answer=answer)


def test_an_answer_stands_behind_the_prompt_that_the_next_one_repeats(trace: Trace) -> None:
    for profile, sessions in (("talk", 28), ("kct", 12)):
        made = generate(profile, sessions=sessions, seed=0, turns=20)
        for number, session in enumerate(sessions_of(made)):
            assert session[0].answer is None
            turns = list(Conversation(profile_named(profile), 0, number).turns())
            first = (len(turns) - len(session)) // 2
            for turn, before, request in zip(turns[first + 1 :], session, session[1:], strict=False):
                if turn.kept_tokens < before.prompt_tokens:
                    assert request.answer is None
                else:
                    end = min(before.prompt_tokens + before.output_tokens, request.prompt_tokens)
                    assert request.answer == (before.index, before.prompt_tokens, end)
    assert trace.answers == "fresh"


def test_a_prompt_of_many_turns_is_few_runs() -> None:
    for request in generate("talk", sessions=10, seed=0).requests:
        assert isinstance(request.chunks, BlockRuns)
        assert len(request.chunks.ranges) < 15


def test_sessions_shorter_than_asked_are_whole_and_that_is_said() -> None:
    trace = generate("kct", sessions=20, seed=0, turns=40)
    lengths = [len(session) for session in sessions_of(trace)]
    n_short = sum(n < 40 for n in lengths)
    assert 0 < n_short < 20
    assert max(lengths) == 40
    assert trace.notes[0].endswith(f"({n_short} have fewer)")


def test_the_same_seed_gives_the_same_trace_and_another_seed_another() -> None:
    traces = [generate("kct", sessions=3, seed=seed, turns=5) for seed in (1, 1, 2)]
    assert traces[0] == traces[1] != traces[2]


def test_a_session_ends_before_its_context_is_too_long() -> None:
    whole = generate("kct", sessions=6, seed=0)
    cut = generate("kct", sessions=6, seed=0, max_context_tokens=60_000)
    assert all(request.prompt_tokens + request.output_tokens <= 60_000 for request in cut.requests)
    for session in {request.session for request in whole.requests}:
        of_whole, of_cut = (
            [
                (request.prompt_tokens, request.chunks)
                for request in found.requests
                if request.session == session
            ]
            for found in (whole, cut)
        )
        assert of_cut == of_whole[: len(of_cut)]
    longer = [request for request in whole.requests if request.prompt_tokens + request.output_tokens > 60_000]
    n_cut = len({request.session for request in longer})
    assert f"; {n_cut} of them end before they have more than 60,000 tokens" in cut.notes[0]


def test_a_limit_that_no_prompt_keeps_is_refused() -> None:
    with pytest.raises(InputError, match="max_context_tokens = 10: every generated prompt is longer"):
        generate("kct", sessions=2, seed=0, max_context_tokens=10)


def test_sessions_without_a_turn_that_is_short_enough_are_counted() -> None:
    first = {request.session: request for request in reversed(generate("kct", sessions=12, seed=0).requests)}
    sizes = sorted(request.prompt_tokens + request.output_tokens for request in first.values())
    cut = generate("kct", sessions=12, seed=0, max_context_tokens=sizes[4])
    assert {request.session for request in cut.requests} == {
        name for name, request in first.items() if request.prompt_tokens + request.output_tokens <= sizes[4]
    }
    assert cut.notes[0].endswith(", 7 of these before their first turn")


def test_a_window_from_a_turn_on_is_part_of_the_whole_session() -> None:
    whole = sessions_of(generate("talk", sessions=3, seed=1))
    cut = sessions_of(generate("talk", sessions=3, seed=1, turns=20, window=30))
    for turns, every in zip(cut, whole, strict=True):
        first = min(30, len(every) - 20)
        assert [r.prompt_tokens for r in turns] == [r.prompt_tokens for r in every[first : first + 20]]


def test_think_times_are_multiplied_then_cut() -> None:
    def thinks_s(**more: float) -> list[float]:
        found = generate("kct", sessions=2, seed=2, turns=12, **more)  # type: ignore[arg-type]
        return [r.delay_s for turns in sorted_turns(found) for r in turns if r.delay_s is not None]

    def sorted_turns(found: Trace) -> list[list[Request]]:
        return sorted(sessions_of(found), key=lambda turns: turns[0].session)

    plain = thinks_s(max_think_s=1e9)
    assert max(plain) > 60.0
    assert thinks_s(think_factor=0.5, max_think_s=5.0) == [min(0.5 * think_s, 5.0) for think_s in plain]


def test_the_assumed_tail_is_above_the_90th_percentile_alone() -> None:
    plain, tail = profile_named("talk").first_tokens, profile_named("talk-1m").first_tokens
    shares = [k / 100 for k in range(0, 91, 5)]
    assert [tail.quantile(u) for u in shares] == [plain.quantile(u) for u in shares]
    assert (tail.quantile(0.95), tail.quantile(1 - 1e-12)) == (608_100, pytest.approx(851_900))
    assert replace(profile_named("talk-1m"), first_tokens=plain) == profile_named("talk")
