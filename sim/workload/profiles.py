"""What coding-agent sessions look like, as distributions.

Fitted to 675 distinct Claude Code sessions (44,015 requests of the main agent) of callanjfox/kv-cache-tester,
commit 94f6046, Apache-2.0. `KCT` is the fit; `TALK` moves it to the sessions of the talk ("Benchmarking
Disaggregated Serving on vLLM + Dynamo with a Real Coding-Agent Workload", K. Tsuyuzaki, 2026), of which only
the median context (213K tokens), the new tokens a turn (1K) and the requests a session (115) are known.
"""

from dataclasses import dataclass

from sim.workload.distributions import Below, Burr12, Distribution, Fisk, Lognorm, Weibull

PREFIX_GROUPS = 83
"""Distinct sets of tool definitions and system prompt; sessions of one group start with the same tokens."""
PREFIX_GROUP_SLOPE = 0.97
"""The k-th most popular group has a share in proportion to k to the power of minus this."""
PREFIX_MEAN_TOKENS = 14_400
PREFIX_SD_TOKENS = 2_000
PREFIX_RANGE_TOKENS = (9_000, 21_500)

USER_TURN_SHARE = 0.14
"""Turns that follow words of the user; the others follow tool results."""
USER_THINK_S = Lognorm(1.721, 128.4)
TOOL_THINK_S = Burr12(4.645, 0.1804, 4.001)

OUTPUT_RANGE_TOKENS = (1, 32_000)

COMPACTION_HAZARD = ((0.60, 0.0015), (0.70, 0.0026), (0.75, 0.027), (0.80, 0.060), (1.0, 0.081))
"""Probability of a compaction before a turn, by the share of the context window in use (up to, probability).

Fitted for windows of 200,000 tokens; larger windows are taken to behave alike at the same share.
"""
COMPACTED_TOKENS = Lognorm(0.612, 38_290)

SMALL_WINDOW_TOKENS, LARGE_WINDOW_TOKENS = 200_000, 1_000_000
FRESH_TOKENS = 45_000
"""A session whose first prompt has fewer tokens starts anew; the others were resumed."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of sessions."""

    fresh_share: float
    """Sessions that start anew; the others were resumed, with a long first prompt."""
    fresh_tokens: Distribution
    """First prompt of a fresh session, behind the shared prefix."""
    resumed_tokens: Distribution
    """First prompt of a resumed session."""
    fresh_turns: Distribution
    resumed_turns: Distribution
    turns_range: tuple[float, float]
    output_tokens: Distribution
    external_tokens: Distribution
    """What tools and the user add to a prompt, beside the previous output."""
    external_zero_share: float
    external_session_sd: float
    """Sessions differ: theirs is multiplied by exp(sd x Z), Z standard normal."""
    break_probability: float
    """Probability that a prompt repeats only the shared prefix of the one before, without shrinking."""
    small_window_share: float


_FRESH_TOKENS = Below(Burr12(1.538, 2.198, 7_043), 45_000 - PREFIX_MEAN_TOKENS)

KCT = Profile(
    fresh_share=0.584,
    fresh_tokens=_FRESH_TOKENS,
    resumed_tokens=Below(Fisk(2.39, 137_500), 890_000),
    fresh_turns=Weibull(1.152, 91.0),
    resumed_turns=Burr12(1.376, 1.84, 39.94),
    turns_range=(1, 2_000),
    output_tokens=Burr12(4.24, 0.2785, 122.4),
    external_tokens=Weibull(0.52, 640),
    external_zero_share=0.07,
    external_session_sd=0.45,
    break_probability=0.0127,
    small_window_share=0.88,
)

TALK = Profile(
    fresh_share=0.30,
    fresh_tokens=_FRESH_TOKENS,
    resumed_tokens=Below(Lognorm(0.60, 112_000), 700_000),
    fresh_turns=Lognorm(0.45, 104),
    resumed_turns=Lognorm(0.45, 104),
    turns_range=(20, 400),
    output_tokens=Burr12(4.418, 0.2615, 140),
    external_tokens=Weibull(0.58, 1_080),
    external_zero_share=0.05,
    external_session_sd=0.35,
    break_probability=0.006,
    small_window_share=0.0,
)

PROFILES = {"talk": TALK, "kct": KCT}


def recorded_service_s(prompt_tokens: int, output_tokens: int) -> float:
    """Return how long the recorded API took for a request: gives nominal timestamps their pace."""
    return 1.08 + output_tokens / 65.5 + 1.58e-5 * prompt_tokens
