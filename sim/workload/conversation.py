"""One coding-agent session in lengths: every turn sends the whole conversation again.

A session draws its shared prefix (tools and system prompt), its first prompt and its number of turns. Then
every prompt is the one before, plus the answer to it, plus what tools or the user add; now and then the
conversation is compacted, or only its shared prefix is kept.
"""

from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import exp
from statistics import NormalDist

from sim.base.uniform import uniform
from sim.workload.profiles import (
    COMPACTED_TOKENS,
    COMPACTION_HAZARD,
    LARGE_WINDOW_TOKENS,
    OUTPUT_RANGE_TOKENS,
    PREFIX_GROUP_SLOPE,
    PREFIX_GROUPS,
    PREFIX_MEAN_TOKENS,
    PREFIX_RANGE_TOKENS,
    PREFIX_SD_TOKENS,
    SMALL_WINDOW_TOKENS,
    TOOL_THINK_S,
    USER_THINK_S,
    USER_TURN_SHARE,
    Profile,
)

_GROUP_SHARES = list(accumulate(k**-PREFIX_GROUP_SLOPE for k in range(1, PREFIX_GROUPS + 1)))
_STANDARD_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session."""

    prompt_tokens: int
    kept_tokens: int
    """How much of it repeats the prompt before; in the first turn, the start it shares with its group."""
    output_tokens: int
    think_s: float
    """From the answer before to this request."""


class Conversation:
    """What one session draws: once, here; and turn by turn, in `turns`."""

    def __init__(self, profile: Profile, seed: int, session: int) -> None:
        self._profile = profile
        self._seed = seed
        self._session = session
        self.group = bisect(_GROUP_SHARES, self._uniform("prefix group") * _GROUP_SHARES[-1])
        """Which set of tools and system prompt it starts with, 0 being the most popular."""
        self.prefix_tokens = prefix_tokens(seed, self.group)
        fresh = self._uniform("fresh") < profile.fresh_share
        u = self._uniform("first prompt")
        self._first_prompt = (
            self.prefix_tokens + round(profile.fresh_tokens.quantile(u))
            if fresh
            else max(round(profile.resumed_tokens.quantile(u)), self.prefix_tokens)
        )
        n_turns = (profile.fresh_turns if fresh else profile.resumed_turns).quantile(self._uniform("turns"))
        self.n_turns = round(_clipped(n_turns, profile.turns_range))
        small = self._uniform("window") < profile.small_window_share
        fits_small = self._first_prompt <= SMALL_WINDOW_TOKENS
        self._window = SMALL_WINDOW_TOKENS if small and fits_small else LARGE_WINDOW_TOKENS
        self._session_factor = exp(
            profile.external_session_sd * _STANDARD_NORMAL.inv_cdf(self._uniform("session factor"))
        )

    def turns(self) -> Iterator[Turn]:
        """Yield the turns, from the first."""
        prompt, kept = self._first_prompt, self.prefix_tokens
        for turn in range(self.n_turns):
            answer = self._output(turn)
            yield Turn(prompt, kept, answer, self._think_s(turn))
            prompt, kept = self._following(turn + 1, prompt, answer)

    def _following(self, turn: int, prompt: int, answer: int) -> tuple[int, int]:
        """Return the prompt of `turn`, and how much of the one before it keeps."""
        grown = prompt + answer + self._external(turn)
        if grown > self._window or self._uniform("compaction", turn) < _hazard(prompt / self._window):
            compacted = COMPACTED_TOKENS.quantile(self._uniform("compacted", turn))
            return max(round(compacted), self.prefix_tokens), self.prefix_tokens
        if self._uniform("break", turn) < self._profile.break_probability:
            return grown, self.prefix_tokens
        return grown, prompt

    def _external(self, turn: int) -> int:
        if self._uniform("nothing external", turn) < self._profile.external_zero_share:
            return 0
        tokens = self._profile.external_tokens.quantile(self._uniform("external", turn))
        return round(tokens * self._session_factor)

    def _output(self, turn: int) -> int:
        tokens = self._profile.output_tokens.quantile(self._uniform("output", turn))
        return round(_clipped(tokens, OUTPUT_RANGE_TOKENS))

    def _think_s(self, turn: int) -> float:
        think_s = USER_THINK_S if self._uniform("user turn", turn) < USER_TURN_SHARE else TOOL_THINK_S
        return think_s.quantile(self._uniform("think", turn))

    def _uniform(self, purpose: str, turn: int = 0) -> float:
        return _uniform(self._seed, purpose, self._session, turn)


def prefix_tokens(seed: int, group: int) -> int:
    """Return the length of the start that the sessions of a group share."""
    z = _STANDARD_NORMAL.inv_cdf(_uniform(seed, "prefix tokens", group))
    return round(_clipped(PREFIX_MEAN_TOKENS + PREFIX_SD_TOKENS * z, PREFIX_RANGE_TOKENS))


def _uniform(seed: int, purpose: str, entity: int, turn: int = 0) -> float:
    """Return a number strictly between 0 and 1: a quantile may be infinite at either end."""
    return uniform(seed, f"agent {purpose}", entity, turn) or 2.0**-54


def _hazard(share_of_window: float) -> float:
    return next(hazard for up_to, hazard in COMPACTION_HAZARD if share_of_window <= up_to)


def _clipped(value: float, allowed: tuple[float, float]) -> float:
    return min(max(value, allowed[0]), allowed[1])
