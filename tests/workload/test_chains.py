"""What calls share by their counts alone: worked out by hand."""

import pytest

from sim.workload.calls import Call
from sim.workload.chains import link
from sim.workload.findings import Findings


def linked(
    *counts: tuple[int, int | None], at_s: float = 60.0, created: dict[int, int] | None = None
) -> list[Call]:
    """Calls of one stream by prompt and cached tokens, 50 tokens of answer, `at_s` from one to the next."""
    calls = [
        Call("s", str(n), n * at_s, n * at_s + 5, prompt, 50, cached_tokens=cached, model="m")
        for n, (prompt, cached) in enumerate(counts)
    ]
    link(calls, Findings(), created)
    return calls


@pytest.mark.parametrize(
    ("second", "kept", "answer"),
    [
        ((1050, None), 1000, 50),
        ((1049, 0), 1000, 0),  # Less than the answer was added.
        ((1000, 10), 1000, 0),
        ((999, 700), 700, 0),
        ((999, None), 0, 0),
        ((999, 5000), 999, 0),
    ],
)
def test_a_prompt_that_did_not_shrink_begins_with_the_one_before(
    second: tuple[int, int | None], kept: int, answer: int
) -> None:
    calls = linked((1000, None), second)
    assert (calls[1].parent, calls[1].kept_tokens, calls[1].answer_tokens) == (0, kept, answer)


def test_less_read_than_was_written_is_a_prefix_that_broke_unless_it_expired() -> None:
    written = {0: 900}
    assert linked((1000, 100), (1100, 936), created=written)[1].kept_tokens == 1000
    assert linked((1000, 100), (1100, 935), created=written)[1].kept_tokens == 935
    assert linked((1000, 100), (1100, 935), created=written, at_s=306)[1].kept_tokens == 1000
    assert linked((1000, 100), (1100, 935), created=None)[1].kept_tokens == 1000


def test_first_calls_share_what_was_read_with_the_first_of_their_model() -> None:
    calls = [
        Call(stream, stream, n, n + 1, prompt, 5, cached_tokens=cached, model=model)
        for n, (stream, prompt, cached, model) in enumerate(
            [
                ("a", 100, 80, "m"),
                ("b", 200, 90, "m"),
                ("c", 200, 150, "m"),
                ("d", 200, 90, "n"),
                ("e", 9, None, "m"),
            ]
        )
    ]
    findings = Findings()
    link(calls, findings)
    assert [(call.group, call.kept_tokens) for call in calls] == [
        *(("1", 0), ("1", 90), ("1", 100), ("2", 0), ("1", 0))
    ]
    assert findings.notes == []


def test_broken_prefixes_are_counted_by_cause() -> None:
    calls = [
        Call("s", str(n), n, n + 0.5, prompt, 5, cached_tokens=0) for n, prompt in enumerate((100, 90, 200))
    ]
    findings = Findings()
    link(calls, findings, {1: 90})
    assert findings.notes == [
        "prefixes broken: the prompt is shorter than the one before: 1",
        "prefixes broken: no cause recorded: 1",
    ]


def test_calls_with_a_parent_keep_it() -> None:
    calls = [Call("s", "a", 0, 1, 100, 5), Call("t", "b", 2, 3, 120, 5, parent=0)]
    link(calls, Findings())
    assert (calls[1].kept_tokens, calls[1].answer_tokens, calls[1].group) == (100, 5, None)
