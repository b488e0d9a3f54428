"""The generator's statistics against those of the recorded sessions and of the talk."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from sim.workload.conversation import Conversation, Turn, prefix_tokens
from sim.workload.profiles import KCT, PROFILES, TALK, TOOL_THINK_S, USER_THINK_S

CHUNK_TOKENS = 64
SESSIONS = 400


@dataclass
class Statistics:
    """What 400 sessions of one profile look like."""

    sessions: list[list[Turn]]

    def __post_init__(self) -> None:
        turns = [turn for session in self.sessions for turn in session]
        later = [turn for session in self.sessions for turn in session[1:]]
        steps = [pair for session in self.sessions for pair in pairwise(session)]
        self.n_turns = [len(session) for session in self.sessions]
        self.prompts = [turn.prompt_tokens for turn in turns]
        self.outputs = [turn.output_tokens for turn in turns]
        self.new = [turn.prompt_tokens - reused(turn) for turn in later]
        self.growth = [
            turn.prompt_tokens - before.prompt_tokens
            for before, turn in steps
            if turn.kept_tokens == before.prompt_tokens
        ]
        self.hit = sum(map(reused, turns)) / sum(self.prompts)
        self.compactions_per_turn = sum(b.prompt_tokens > t.prompt_tokens for b, t in steps) / len(turns)


def reused(turn: Turn) -> int:
    return turn.kept_tokens // CHUNK_TOKENS * CHUNK_TOKENS


@pytest.fixture(scope="module")
def talk() -> Statistics:
    return Statistics([list(Conversation(TALK, 0, session).turns()) for session in range(SESSIONS)])


@pytest.fixture(scope="module")
def kct() -> Statistics:
    return Statistics([list(Conversation(KCT, 0, session).turns()) for session in range(SESSIONS)])


def test_talk_has_the_numbers_that_the_talk_gives(talk: Statistics) -> None:
    """213K tokens of context, about 1K new ones, 6,101 requests in 53 sessions."""
    assert np.median(talk.prompts) == pytest.approx(213_000, rel=0.05)
    assert 800 <= np.median(talk.new) <= 1_200
    assert np.mean(talk.n_turns) == pytest.approx(6_101 / 53, rel=0.05)


def test_talk_is_otherwise_like_the_recorded_sessions(talk: Statistics) -> None:
    assert np.percentile(talk.prompts, 90) == pytest.approx(455_000, rel=0.10)
    assert np.median(talk.growth) == pytest.approx(999, rel=0.05)
    assert np.median(talk.new) == pytest.approx(1_044, rel=0.05)
    assert np.median(talk.outputs) == pytest.approx(248, rel=0.05)
    assert talk.hit == pytest.approx(0.981, abs=0.003)


def test_kct_is_like_the_recorded_sessions(kct: Statistics) -> None:
    """44,015 requests of 675 sessions; the tail of the context is the generator's weakest point."""
    assert np.mean(kct.n_turns) == pytest.approx(65, rel=0.10)
    assert np.median(kct.n_turns) == pytest.approx(44, rel=0.15)
    assert np.median(kct.prompts) == pytest.approx(100_000, rel=0.15)
    assert np.percentile(kct.prompts, 90) == pytest.approx(197_000, rel=0.15)
    assert np.percentile(kct.growth, [10, 50, 90, 99]) == pytest.approx([183, 650, 3_684, 16_600], rel=0.15)
    assert np.median(kct.new) == pytest.approx(709, rel=0.05)
    assert np.percentile(kct.outputs, [10, 50, 90]) == pytest.approx([104, 217, 880], rel=0.05)
    assert kct.hit == pytest.approx(0.963, abs=0.004)
    assert kct.compactions_per_turn == pytest.approx(0.0057, abs=0.0035)


def test_a_prompt_is_at_least_what_it_keeps(talk: Statistics, kct: Statistics) -> None:
    for session in talk.sessions + kct.sessions:
        assert all(turn.kept_tokens <= turn.prompt_tokens for turn in session)


def test_think_times_are_those_recorded_after_tools_and_after_the_user() -> None:
    shares = (0.1, 0.5, 0.9)
    assert [TOOL_THINK_S.quantile(u) for u in shares] == pytest.approx([4, 9, 77], rel=0.20)
    assert [USER_THINK_S.quantile(u) for u in shares] == pytest.approx([16, 120, 1_357], rel=0.20)


@pytest.mark.parametrize("name", PROFILES)
def test_a_turn_keeps_the_prompt_before_or_only_the_shared_start(name: str) -> None:
    for session in range(30):
        conversation = Conversation(PROFILES[name], 7, session)
        turns = list(conversation.turns())
        assert len(turns) == conversation.n_turns
        assert turns[0].kept_tokens == conversation.prefix_tokens <= turns[0].prompt_tokens
        for before, turn in pairwise(turns):
            assert turn.kept_tokens in (before.prompt_tokens, conversation.prefix_tokens)
            assert turn.prompt_tokens <= 1_000_000
            if turn.prompt_tokens > before.prompt_tokens:
                assert turn.prompt_tokens >= before.prompt_tokens + before.output_tokens
            assert 1 <= turn.output_tokens <= 32_000
            assert turn.think_s > 0


def test_sessions_of_one_group_start_with_the_same_tokens_and_popular_groups_are_shared() -> None:
    sessions = [Conversation(TALK, 0, session) for session in range(SESSIONS)]
    groups = [session.group for session in sessions]
    assert all(session.prefix_tokens == prefix_tokens(0, session.group) for session in sessions)
    assert set(groups) <= set(range(83))
    assert groups.count(0) / SESSIONS == pytest.approx(0.188, abs=0.06)
    assert 9_000 <= min(s.prefix_tokens for s in sessions) < max(s.prefix_tokens for s in sessions) <= 21_500


def test_a_seed_changes_everything_and_repeats_exactly() -> None:
    turns = [list(Conversation(TALK, seed, 3).turns()) for seed in (1, 1, 2)]
    assert turns[0] == turns[1] != turns[2]
