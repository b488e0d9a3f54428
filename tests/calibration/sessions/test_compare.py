"""Generated sessions beside recorded ones: the same numbers of both, and the table of them."""

import itertools

import numpy as np
import pytest

from calibration.sessions.compare import generated, quantities, shares, table
from sim.workload.conversation import Conversation
from sim.workload.profiles import profile_named

KCT = profile_named("kct")


def test_generated_sessions_have_the_numbers_of_their_turns() -> None:
    (session,) = generated(KCT, seeds=1, sessions=1)
    turns = list(Conversation(KCT, 0, 0).turns())
    assert session.prompt.tolist() == [turn.prompt_tokens for turn in turns]
    assert session.think_s.tolist() == [turn.think_s for turn in turns[1:]]
    kept = [turn.kept_tokens == before.prompt_tokens for before, turn in itertools.pairwise(turns)]
    assert session.appends.tolist() == kept
    assert np.all(session.gap_s == np.rint(session.gap_s))


def test_shares_are_those_of_the_sessions() -> None:
    sessions = generated(KCT, seeds=2, sessions=20)
    found, values = shares(sessions), quantities(sessions)
    later = sum(s.prompt.size - 1 for s in sessions)
    assert found["turns, mean"] == np.mean(values["turns"])
    assert values["drop of a shrink"].size == pytest.approx(found["shrinks a turn (%)"] * later / 100)
    assert values["tokens lost by a break"].size == pytest.approx(found["breaks a turn (%)"] * later / 100)
    assert found["think, mean (s)"] == pytest.approx(values["think (s)"].mean())


def test_the_table_has_no_distance_between_a_set_and_itself() -> None:
    sessions = generated(KCT, seeds=1, sessions=12)
    lines = list(table(sessions, {"itself": sessions}))
    assert lines[0] == "| quantity, p10 / p50 / p90 | recorded | itself | KS |"
    assert all(line.count("|") == 5 for line in lines)
    distributions = [line for line in lines[2:] if line.endswith(" 0.000 |")]
    assert len(distributions) == len(quantities(sessions))
