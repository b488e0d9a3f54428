"""Calls become rows: shared chunks have the ids of the call before, all others ids of their own."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sim.workload.calls import Call
from sim.workload.lowering import kept_tokens, rows_of, with_identity
from sim.workload.recorded import Recorded
from sim.workload.request import Answer


def call(name: str, send_s: float, prompt: int, output: int = 5, **more: object) -> Call:
    """A call of one second."""
    fields = {"stream": "s", "end_s": send_s + 1, **more}
    return Call(name=name, send_s=send_s, prompt_tokens=prompt, output_tokens=output, **fields)  # type: ignore[arg-type]


def ids(calls: list[Call], chunk_tokens: int = 10) -> list[list[int]]:
    rows = rows_of(calls, chunk_tokens)
    return [rows.hash_ids(number).tolist() for number in range(len(rows))]


def test_a_prompt_has_the_full_chunks_that_it_shares_and_new_ones() -> None:
    assert ids(
        [
            call("a", 0, 35),
            call("b", 2, 52, parent=0, kept_tokens=35, answer_tokens=5),
            call("c", 4, 60, parent=1, kept_tokens=29),
        ]
    ) == [
        [1, 2, 3, 10],  # The end of a prompt has an id that no other prompt has.
        [1, 2, 3, 4, 5, 11],
        [1, 2, 6, 7, 8, 9],
    ]


def test_streams_have_runs_of_their_own() -> None:
    calls = [
        call("a", 0, 20),
        call("x", 1, 30, stream="t", parent=0, kept_tokens=20),
        call("b", 2, 30, parent=0, kept_tokens=20),
    ]
    assert ids(calls) == [[1, 2], [1, 2, 4], [1, 2, 3]]


def test_first_prompts_of_a_group_share_the_first_chunks_of_its_first() -> None:
    calls = [
        call("a", 0, 35, group="g"),
        call("b", 1, 40, stream="t", group="g", kept_tokens=25),
        call("c", 2, 40, stream="u", group="g", kept_tokens=100),
        call("d", 3, 40, stream="v", group="h", kept_tokens=25),
        call("e", 4, 40, stream="w", kept_tokens=25),
    ]
    # No more than the first of a group has; nothing without a group, or as the first of one.
    assert ids(calls) == [
        [1, 2, 3, 15],
        [1, 2, 4, 5],
        [1, 2, 3, 6],
        [7, 8, 9, 10],
        [11, 12, 13, 14],
    ]


def test_rows_have_times_waits_answers_and_what_was_recorded() -> None:
    calls = [
        call("a", 0.5, 35, line=3, model="m"),
        call("x", 2.0, 30, stream="t", waits_for=(0,), ttft_s=0.25),
        call("b", 5.0, 52, parent=0, kept_tokens=35, answer_tokens=5, waits_for=(0, 1), cached_tokens=30),
        call("c", 5.5, 52, parent=2, kept_tokens=52),
    ]
    rows = rows_of(calls, 10)
    assert [rows.timestamp[row] for row in range(4)] == [0.5, 2.0, 5.0, 5.5]
    # After the last of those that it waits for; the fourth was sent before the third was answered.
    assert [rows.delay[row] for row in range(1, 4)] == [0.5, 2.0, 0.0]
    assert [rows.waits_for(row) for row in range(4)] == [(), (0,), (0, 1), ()]
    assert [rows.answer(row) for row in range(4)] == [None, None, Answer(0, 35, 40), None]
    assert rows.recorded(1) == Recorded(service_s=1.0, ttft_s=0.25)
    assert rows.recorded(2) == Recorded(service_s=1.0, cached_tokens=30)
    assert (rows.line[0], rows.model.get(0), rows.session_name(1)) == (3, "m", "t")


def test_a_delay_begins_when_all_that_it_waits_for_has_ended() -> None:
    asks = call("asks", 0.0, 20)
    asks.end_s = 10.0
    agent = call("agent", 2.0, 20, stream="agent", waits_for=(0,))
    agent.end_s = 9.0
    goes_on = call("goes on", 10.5, 40, waits_for=(1,))
    rows = rows_of([asks, agent, goes_on], 10)
    assert [rows.delay[1], rows.delay[2]] == [0.0, 0.5]


def test_a_delay_that_was_recorded_stands() -> None:
    first = call("a", 0.5, 35, end_s=None)
    rows = rows_of([first, replace(first, name="b", send_s=None, delay_s=0.75)], 10)
    assert (rows.delay[1], rows.timestamp[1] != rows.timestamp[1]) == (0.75, True)


def test_identities_of_prompts() -> None:
    calls = [
        call("a", 0, 35, group="g", cached_tokens=9),
        call("b", 2, 52, parent=0, kept_tokens=35, answer_tokens=5, cached_tokens=20),
        call("c", 4, 60, parent=1, kept_tokens=52, answer_tokens=5, cached_tokens=99),
        call("d", 6, 61, parent=2, kept_tokens=60),
    ]
    assert kept_tokens(with_identity(calls, "append")) == 147
    provider = with_identity(calls, "provider")
    assert [(each.kept_tokens, each.answer_tokens) for each in provider] == [
        (0, 0),
        (20, 0),
        (52, 5),
        (60, 0),
    ]
    broken = rows_of(calls, 10, "append", "billing-header")
    every = [each for row in range(4) for each in broken.hash_ids(row)]
    assert len({*every}) == len(every) == 4 + 6 + 6 + 7
    assert all(broken.answer(row) is None for row in range(4))


@st.composite
def logs(draw: st.DrawFn) -> list[Call]:
    """Calls of some streams, each of which goes on from any earlier one or from none."""
    calls: list[Call] = []
    for number in range(draw(st.integers(1, 12))):
        prompt = draw(st.integers(1, 60))
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        kept = draw(st.integers(0, min(prompt, calls[parent].prompt_tokens))) if parent is not None else 0
        group = draw(st.sampled_from([None, "g", "h"])) if parent is None else None
        if group is not None:
            kept = draw(st.integers(0, prompt))
        stream = draw(st.sampled_from("st"))
        calls.append(
            call(str(number), number, prompt, stream=stream, parent=parent, kept_tokens=kept, group=group)
        )
    return calls


def common(first: list[int], second: list[int]) -> int:
    pairs = [a == b for a, b in zip(first, second, strict=False)]
    return pairs.index(False) if False in pairs else len(pairs)


@given(logs(), st.integers(1, 20))
def test_prompts_share_the_full_chunks_that_they_keep_and_no_others(
    calls: list[Call], chunk_tokens: int
) -> None:
    found = ids(calls, chunk_tokens)
    roots: dict[str, int] = {}
    seen: set[int] = set()
    for number, (each, own) in enumerate(zip(calls, found, strict=True)):
        assert len(own) == -(-each.prompt_tokens // chunk_tokens)
        assert len({*own}) == len(own)
        before = each.parent
        if each.group is not None:
            before = roots.setdefault(each.group, number)
        shared = 0
        if before is not None and before != number:
            shared = min(each.kept_tokens, calls[before].prompt_tokens, each.prompt_tokens) // chunk_tokens
            assert own[:shared] == found[before][:shared]
        assert seen.isdisjoint(own[shared:])
        seen.update(own)


def test_streams_that_a_call_started_are_taken_with_its_session() -> None:
    calls = [
        call("a", 0, 20),
        call("x", 1, 20, stream="t"),
        call("b", 2, 20, stream="agent", waits_for=(0,)),
        call("y", 3, 20, stream="its", waits_for=(1,)),
        call("c", 4, 20, stream="nested", waits_for=(2,)),
        call("d", 5, 20, waits_for=(0, 4)),
    ]
    rows = rows_of(calls, 10)
    assert (rows.n_sessions, rows.n_counted) == (5, 2)
    assert rows.of_first(1).tolist() == [0, 2, 4, 5]
    assert rows.of_first(2).tolist() == [*range(6)]
