"""The fit of a profile: what is known of made sessions comes out, and the shipped files are what it gives."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from calibration.sessions import fit as fits
from calibration.sessions.fit import BANDS, SHARES, as_toml, fit
from calibration.sessions.recorded import Session, read_sessions
from sim.base.shipped import session_profile

SHARED = Path(__file__).parents[4] / "shared" / "traces"


def session(number: int) -> Session:
    """Return one of 70 turns and more, each 400 to 700 tokens longer; turn 9 has 10,000 tokens."""
    rng = np.random.default_rng(number)
    n_turns = 70 + number
    prompt, kept = [20_000.0 + 100 * number], [0.0]
    for turn in range(1, n_turns):
        if turn == 9:
            prompt, kept = [*prompt, 10_000.0], [*kept, 6_400.0]
        else:
            kept.append(prompt[-1] // 64 * 64)
            prompt.append(prompt[-1] + int(rng.integers(400, 700)))
    from_user = np.arange(n_turns - 1) % 10 == 0
    think_s = np.where(from_user, 100.0, 5.0)
    return Session(
        prompt=np.array(prompt),
        output=rng.integers(100, 300, n_turns).astype(float),
        kept=np.array(kept),
        seen=np.array(kept),
        think_s=think_s,
        gap_s=think_s + 3,
        user=np.array([False, *from_user]),
    )


def test_counts_and_quantiles_are_those_of_the_sessions() -> None:
    sessions = [session(number) for number in range(21)]
    found = fit(sessions)
    assert (found["sessions"], found["requests"]) == (21, 21 * 80)
    assert found["user_turn_share"] == pytest.approx(0.1, abs=0.01)
    assert found["small_window_share"]["fresh"] == 1.0
    assert found["quantiles"]["turns"][SHARES.index(0.5)] == 80
    assert found["quantiles"]["first_tokens"][SHARES.index(0.5)] == 21_000
    assert found["quantiles"]["user_think_s"] == [100.0] * len(SHARES)
    assert found["quantiles"]["compacted_tokens"] == [10_000.0] * len(SHARES)
    assert found["quantiles"]["compacted_lost_tokens"] == [3_600.0] * len(SHARES)
    assert found["deep_share"]["compacted"] == 0
    assert found["partial"]["shares"] == [[0]] * len(found["partial"]["shares"])
    before = np.concatenate([s.prompt[:-1] for s in sessions])
    events = found["events"]["fresh_small"]["shares"]
    assert events[0] == [pytest.approx(21 / np.sum(before <= 30_000), abs=1e-6), 0, 0]
    assert events[1] == [0, 0, 0]
    in_no_turn = [pytest.approx(21 / before.size, abs=1e-6), 0, 0]
    assert events[2] == in_no_turn
    assert BANDS["fresh_small"][:3] == (30_000, 60_000, 120_000)


def test_what_lasts_is_told_from_a_session_s_level_and_a_turn_s_own() -> None:
    """Scores of variance 0.3 between sessions, 0.4 that lasts by 0.8 a turn, and 0.3 of each turn alone."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(600):
        lasting = [rng.standard_normal()]
        for _ in range(120):
            lasting.append(0.8 * lasting[-1] + 0.6 * rng.standard_normal())
        level = rng.standard_normal()
        own = rng.standard_normal(121)
        scores.append(0.3**0.5 * level + 0.4**0.5 * np.array(lasting) + 0.3**0.5 * own)
    found, means = fits._bursts(scores)
    assert found["ratio"] == pytest.approx(0.8, abs=0.06)
    assert found["lasting_sd"] ** 2 == pytest.approx(0.4, abs=0.06)
    assert found["own_sd"] ** 2 == pytest.approx(0.3, abs=0.06)
    assert found["level_sd"] ** 2 == pytest.approx(0.3, abs=0.05)
    assert means.shape == (600,)


def test_a_profile_is_read_as_it_was_written() -> None:
    found = fit([session(number) for number in range(20)])
    again = tomllib.loads(as_toml(found, "made", 'a "source"'))
    assert again.pop("source") == 'a "source"'
    assert again["quantiles"] == found["quantiles"]
    assert again["events"] == found["events"]
    assert again["bursts"] == found["bursts"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "names"),
    [("kct", "kv-cache-tester/distinct_sessions.json"), ("talk", "talk-like-53/sessions.json")],
)
def test_shipped_profiles_are_what_the_fit_gives(name: str, names: str) -> None:
    traces = SHARED / "kv-cache-tester" / "traces_710_rle.jsonl.gz"
    if not traces.is_file():
        pytest.skip("the recorded sessions are not here")
    shipped = session_profile(name)
    source = shipped["source"]
    assert tomllib.loads(as_toml(fit(read_sessions(traces, SHARED / names)), name, source)) == shipped
