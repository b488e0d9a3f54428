"""What coding-agent sessions look like: the numbers of `calibration/sessions`, which say what each is from.

Fitted to Claude Code sessions of callanjfox/kv-cache-tester, commit 94f6046, Apache-2.0: `kct` to 675
distinct ones; `talk` to the 53 of them that are most like those of the talk ("Benchmarking Disaggregated
Serving on vLLM + Dynamo with a Real Coding-Agent Workload", K. Tsuyuzaki, 2026), of which only the median
context (213K tokens), the new tokens a turn (1K) and the requests a session (115) are known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sim.base.shipped import session_profile
from sim.workload.distributions import Quantiles

PREFIX_GROUPS = 83
"""Distinct sets of tool definitions and system prompt; sessions of one group start with the same tokens."""
PREFIX_GROUP_SLOPE = 0.97
"""The k-th most popular group has a share in proportion to k to the power of minus this."""
PREFIX_MEAN_TOKENS = 14_400
PREFIX_SD_TOKENS = 2_000
PREFIX_RANGE_TOKENS = (9_000, 21_500)

SMALL_WINDOW_TOKENS, LARGE_WINDOW_TOKENS = 200_000, 1_000_000
FRESH_TOKENS = 45_000
"""A session whose first prompt has fewer tokens starts anew; the others were resumed."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Probabilities by a number, such as that of a compaction by the context: `shares[k]` up to `ends[k]`."""

    ends: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]
    """For each band, the probability of each of the things that may happen."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a prompt leaves the one before it."""

    deep_share: float
    """In so many cases less than half of it is kept."""
    kept_tokens: Quantiles
    """How much is kept, in these cases."""
    lost_tokens: Quantiles
    """How much is not, in the others."""


@dataclass(frozen=True, slots=True)
class Bursts:
    """How a quantity goes on from turn to turn: its quantile is that of a standard normal number.

    That is the sum of the session's level, of what lasts for some turns (`ratio` of it from one to the next,
    and something new), and of what is the turn's own; over all turns their variances add up to 1.
    """

    level_mean: float
    level_sd: float
    lasting_sd: float
    ratio: float
    own_sd: float


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of sessions."""

    first_tokens: Quantiles
    """First prompt of a session."""
    turns: Quantiles
    together: tuple[tuple[float, ...], ...]
    """What goes together in a session, first prompt, turns and the levels of what is added and of outputs:
    the rows of a triangle that makes normal numbers of this correlation from independent ones."""
    small_window_share: Mapping[str, float]
    """Sessions with the small window, of `fresh` ones and of `resumed` ones whose first prompt fits it."""
    output_tokens: Quantiles
    output_bursts: Bursts
    output_after_external: float
    """Correlation of an answer's own part with that of what was added before it."""
    partial: Bands
    """Probability, by the answer's tokens, that a prompt grows by less than the answer."""
    partial_share: Quantiles
    """By how much of the answer, then."""
    external_tokens: tuple[Quantiles, ...]
    """What tools and the user add behind an answer,"""
    external_ends: tuple[float, ...]
    """by the context before it: up to so many tokens."""
    external_bursts: Bursts
    events: Mapping[str, Bands]
    """Probabilities of a compaction, an edit and a break before a turn, by the context before it, of sessions
    that are `fresh_small`, `fresh_large` or `resumed`."""
    compacted_tokens: Quantiles
    """A prompt after a compaction: at most half of the one before."""
    compacted_at: Position
    edited_tokens: Quantiles
    """By how much a prompt shrinks after an edit: less than by half."""
    edited_at: Position
    broken_growth_tokens: Quantiles
    """By how much a prompt grows that does not keep all of the one before."""
    broken_at: Position
    user_turn_share: float
    """Turns that follow words of the user; the others follow tool results."""
    user_think_s: Quantiles
    tool_think_s: Quantiles


def profile_of(table: Mapping[str, Any]) -> Profile:
    """Return the profile that a table of `calibration/sessions` holds."""
    shares = tuple(table["shares"])

    def quantiles(name: str) -> Quantiles:
        return Quantiles(shares, tuple(table["quantiles"][name]))

    def bands(found: Mapping[str, Any]) -> Bands:
        return Bands(tuple(found["up_to_tokens"]), tuple(map(tuple, found["shares"])))

    def position(name: str) -> Position:
        return Position(
            table["deep_share"][name], quantiles(f"{name}_kept_tokens"), quantiles(f"{name}_lost_tokens")
        )

    bursts = table["bursts"]
    return Profile(
        first_tokens=quantiles("first_tokens"),
        turns=quantiles("turns"),
        together=tuple(map(tuple, table["together"])),
        small_window_share=table["small_window_share"],
        output_tokens=quantiles("output_tokens"),
        output_bursts=Bursts(**bursts["output"]),
        output_after_external=table["output_after_external"],
        partial=bands(table["partial"]),
        partial_share=quantiles("partial_share"),
        external_tokens=tuple(Quantiles(shares, tuple(values)) for values in table["external"]["tokens"]),
        external_ends=tuple(table["external"]["up_to_tokens"]),
        external_bursts=Bursts(**bursts["external"]),
        events={kind: bands(found) for kind, found in table["events"].items()},
        compacted_tokens=quantiles("compacted_tokens"),
        compacted_at=position("compacted"),
        edited_tokens=quantiles("edited_tokens"),
        edited_at=position("edited"),
        broken_growth_tokens=quantiles("broken_growth_tokens"),
        broken_at=position("broken"),
        user_turn_share=table["user_turn_share"],
        user_think_s=quantiles("user_think_s"),
        tool_think_s=quantiles("tool_think_s"),
    )


@cache
def profile_named(name: str) -> Profile:
    """Return a shipped profile."""
    return profile_of(session_profile(name))


def recorded_service_s(prompt_tokens: int, output_tokens: int) -> float:
    """Return how long the recorded API took for a request: gives nominal timestamps their pace."""
    return 1.08 + output_tokens / 65.5 + 1.58e-5 * prompt_tokens
