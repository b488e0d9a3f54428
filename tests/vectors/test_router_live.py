"""The replay of live front ends, on a small recording made by hand: what in it is changed is noticed."""

from copy import deepcopy

import pytest

from tests.vectors.router_live import replay_live
from tests.vectors.router_tally import Row, Tally


def request(
    t: float, session: str | None, blocks: range, millis: tuple[int, int], choice: tuple[int, float] | None
) -> Row:
    """Return a line: when, whose, blocks (and 2 tokens more), first token and end, rank and its cost."""
    logged = None if choice is None else {"kind": "Selected", "selected_logit": choice[1]}
    return {
        "op": "request",
        "t": t,
        "session_id": session,
        "prompt_blocks": [*blocks],
        "isl_tokens": 16 * len(blocks) + 2,
        "first_token_after_ms": millis[0],
        "end_after_ms": millis[1],
        "chosen": None if choice is None else [choice[0], 0],
        "logged": logged,
    }


def recording(mode: str) -> list[Row]:
    """Two workers, no KV events, sessions bound for 1 s, busy above 300 booked prompt tokens."""
    affinity = ["--router-session-affinity-ttl-secs", "1", "--router-session-affinity-mode", mode]
    rows: list[Row] = [
        {
            "op": "live_scenario",
            "block_size": 16,
            "config": {"use_kv_events": False},
            "flags": [*affinity, "--active-prefill-tokens-threshold", "300"],
            "ranks": [[0, 0], [1, 0]],
        },
        request(0.0, "A", range(1, 6), (200, 460), (0, 82 / 16 + 5)),
        # Worker 0 has 82 tokens and 5 blocks booked.
        request(0.1, None, range(11, 16), (1000, 1100), (1, 82 / 16 + 5)),
        # A is bound to worker 0, where 5 of its blocks are guessed to be.
        request(0.7, "A", range(1, 7), (200, 260), (0, 98 / 16 - 5 + 6)),
        request(1.3, None, range(11, 17), (3000, 3100), (1, 98 / 16 - 5 + 6)),
        # 18 tokens and 6 blocks are booked on worker 1. From now on worker 0 is busy, with 322 tokens.
        request(1.6, "B", range(21, 41), (3000, 3100), (0, 322 / 16 + 20)),
        request(1.8, None, range(21, 24), (2500, 2600), (1, (18 + 50) / 16 + 6 + 3)),
        # B is bound to worker 0.
        request(2.0, "B", range(21, 42), (200, 300), (1, (68 + 338) / 16 - 3 + 9 + 18)),
        # The last request of A ended at 0.96: it is bound no longer.
        request(2.6, "A", range(1, 7), (200, 260), (1, (68 + 98) / 16 + 9 + 6)),
    ]
    if mode == "hard":
        rows[3]["logged"]["kind"] = "Selected pinned"
        rows[7] |= {"chosen": None, "logged": None}
    return rows


def problems(rows: list[Row]) -> list[str]:
    """Replay a recording; return what does not agree, each with the number of its line."""
    tally = Tally()
    replay_live([(str(number), row) for number, row in enumerate(rows)], tally)
    return tally.problems


def changed(rows: list[Row], number: int, chosen: list[int] | None) -> list[Row]:
    """Return a recording one of whose requests was sent elsewhere, or nowhere."""
    rows = deepcopy(rows)
    rows[number]["chosen"] = chosen
    if chosen is not None and rows[number]["logged"] is None:
        rows[number]["logged"] = {"kind": "Selected pinned", "selected_logit": 1.0}
    return rows


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_it_agrees(mode: str) -> None:
    rows, tally = recording(mode), Tally()
    replay_live([("", row) for row in rows], tally)
    assert not tally.problems
    assert [*tally.lines()][-1] == "8 of 8 decisions agree"


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_every_choice_that_is_changed_is_noticed(mode: str) -> None:
    rows = recording(mode)
    for number in range(1, len(rows)):
        for other in ([0, 0], [1, 0], None):
            if other == rows[number]["chosen"]:
                continue
            found = problems(changed(rows, number, other))
            assert found, (number, other)
            # The first one may go to either of two idle workers: it is noticed by what follows.
            if number > 1 or other is None:
                assert found[0].startswith(f"{number}: chosen: recorded"), (number, other)


@pytest.mark.parametrize("number", [1, 3, 8])
def test_a_cost_and_a_kind_that_are_changed_are_noticed(number: int) -> None:
    for key, value in (("selected_logit", 10.0), ("kind", "Peeked")):
        rows = recording("hard")
        rows[number]["logged"][key] = value
        (found,) = problems(rows)
        assert found.startswith(f"{number}: {key}: recorded {value}")
