"""One coding-agent session in lengths: every turn sends the whole conversation again.

A session draws its shared prefix (tools and system prompt), its first prompt, its number of turns and how
fast it grows. Then every prompt is the one before, plus the answer to it, plus what tools or the user add;
now and then the conversation is compacted, something in it is cleared, or a part of it is sent changed.
"""

from bisect import bisect, bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, count
from math import fsum, sqrt
from statistics import NormalDist

from sim.base.uniform import uniform
from sim.workload.distributions import Quantiles
from sim.workload.growing import Turn
from sim.workload.profiles import (
    FRESH_TOKENS,
    LARGE_WINDOW_TOKENS,
    PREFIX_GROUP_SLOPE,
    PREFIX_GROUPS,
    PREFIX_MEAN_TOKENS,
    PREFIX_RANGE_TOKENS,
    PREFIX_SD_TOKENS,
    SMALL_WINDOW_TOKENS,
    Bands,
    Bursts,
    Position,
    Profile,
)
from sim.workload.strata import stratified

_GROUP_SHARES = list(accumulate(k**-PREFIX_GROUP_SLOPE for k in range(1, PREFIX_GROUPS + 1)))
_STANDARD_NORMAL = NormalDist()
_TOGETHER = ("first prompt", "turns", "external level", "output level")
_BASES = {"first prompt": 2, "turns": 3, "external level": 5, "output level": 7, "window": 11}
"""What is spread evenly over the sessions of a set, with the bases of `stratified`."""
_COMPACTION, _EDIT, _BREAK = range(3)
_GREATEST_SHARE = 1 - 1e-12


class Conversation:
    """What one session draws: once, here; and turn by turn, in `turns`."""

    def __init__(self, profile: Profile, seed: int, session: int) -> None:
        self._profile = profile
        self._seed = seed
        self._session = session
        self.group = bisect(_GROUP_SHARES, self._uniform("prefix group") * _GROUP_SHARES[-1])
        """Which set of tools and system prompt it starts with, 0 being the most popular."""
        apart = [_STANDARD_NORMAL.inv_cdf(self._spread(quantity)) for quantity in _TOGETHER]
        first, turns, self._external_level, self._output_level = (
            fsum(weight * z for weight, z in zip(row, apart, strict=False)) for row in profile.together
        )
        self._first_prompt = _tokens(profile.first_tokens.quantile(_share(first)))
        self._most_turns = _tokens(profile.turns.quantile(_share(turns)))
        self.prefix_tokens = min(prefix_tokens(seed, self.group), self._first_prompt)
        """How much of the start that its group shares its first prompt has."""
        self._fresh = self._first_prompt < FRESH_TOKENS
        small_share = profile.small_window_share["fresh" if self._fresh else "resumed"]
        small = self._first_prompt <= SMALL_WINDOW_TOKENS and self._spread("window") < small_share
        self._window = SMALL_WINDOW_TOKENS if small else LARGE_WINDOW_TOKENS
        self._events = profile.events[
            "resumed" if not self._fresh else "fresh_small" if small else "fresh_large"
        ]

    @cached_property
    def n_turns(self) -> int:
        """How many turns it has."""
        return len(self._turns)

    def turns(self) -> Iterator[Turn]:
        """Yield the turns, from the first."""
        return iter(self._turns)

    @cached_property
    def _turns(self) -> list[Turn]:
        return list(self._made())

    def _made(self) -> Iterator[Turn]:
        profile = self._profile
        outputs = self._levels("output", profile.output_bursts, self._output_level)
        added = self._levels("external", profile.external_bursts, self._external_level)
        read = profile.output_after_external
        prompt, kept, answered = self._first_prompt, self.prefix_tokens, 0
        own = self._normal("external")
        for turn in range(self._most_turns):
            own_output = read * own + sqrt(1 - read**2) * self._normal("output", turn)
            z = next(outputs) + profile.output_bursts.own_sd * own_output
            output = _tokens(profile.output_tokens.quantile(_share(z)))
            yield Turn(prompt, kept, answered, output, self._think_s(turn))
            own = self._normal("external", turn + 1)
            z = next(added) + profile.external_bursts.own_sd * own
            following = self._following(turn + 1, prompt, output, z)
            if following is None:
                return
            prompt, kept, answered = following

    def _levels(self, purpose: str, bursts: Bursts, level: float) -> Iterator[float]:
        """Yield for each turn what the session has, and what lasts for some turns."""
        mean = bursts.level_mean + bursts.level_sd * level
        new = sqrt(1 - bursts.ratio**2)
        lasting = self._normal(f"lasting {purpose}")
        for turn in count(1):
            yield mean + bursts.lasting_sd * lasting
            lasting = bursts.ratio * lasting + new * self._normal(f"lasting {purpose}", turn)

    def _following(self, turn: int, before: int, output: int, z: float) -> tuple[int, int, int] | None:
        """Return the prompt of `turn`, how much it keeps of the one before, and of the answer to that.

        None where it is longer than the window of a session that was resumed: recorded ones end there.
        """
        profile = self._profile
        event, u = _chosen(_at(self._events, before), self._uniform("event", turn))
        if event == _COMPACTION:
            return self._compacted(turn, before)
        if event == _EDIT:
            prompt = before - round(min(profile.edited_tokens.quantile(u), before / 2))
            return prompt, self._kept(profile.edited_at, turn, prompt), 0
        if event == _BREAK:
            growth = self._fitting(profile.broken_growth_tokens, u, before)
            prompt, kept, answered = before + growth, self._kept(profile.broken_at, turn, before), 0
        else:
            growth, answered = self._growth(u, before, output, z)
            prompt, kept = before + growth, before
        if prompt <= self._window:
            return prompt, kept, answered
        return self._compacted(turn, before) if self._fresh else None

    def _compacted(self, turn: int, before: int) -> tuple[int, int, int]:
        tokens = self._profile.compacted_tokens.quantile(self._uniform("compacted", turn))
        prompt = _tokens(min(tokens, before / 2))
        return prompt, self._kept(self._profile.compacted_at, turn, prompt), 0

    def _kept(self, position: Position, turn: int, most: int) -> int:
        """Return how many of `most` tokens a prompt keeps."""
        shallow, u = _chosen((position.deep_share,), self._uniform("position", turn))
        drawn = (position.lost_tokens if shallow else position.kept_tokens).quantile(u)
        tokens = round(min(drawn, most / 2))
        return most - tokens if shallow else tokens

    def _growth(self, u: float, before: int, output: int, z: float) -> tuple[int, int]:
        """Return by how much a prompt grows that keeps the one before, and how much of it is the answer."""
        profile = self._profile
        whole, u = _chosen(_at(profile.partial, output), u)
        if not whole:
            growth = _tokens(output * profile.partial_share.quantile(u))
            return growth, min(growth, output)
        tokens = profile.external_tokens[bisect_left(profile.external_ends, before)]
        return output + self._fitting(tokens, _share(z), before + output), output

    def _fitting(self, quantity: Quantiles, u: float, before: int) -> int:
        """Return by how much a prompt grows; in a session that starts anew, so that its window holds it."""
        fits = quantity.cdf(max(self._window - before, 1)) if self._fresh else 1.0
        return int(quantity.quantile(u * fits))

    def _think_s(self, turn: int) -> float:
        profile = self._profile
        tool, u = _chosen((profile.user_turn_share,), self._uniform("think", turn))
        return (profile.tool_think_s if tool else profile.user_think_s).quantile(u)

    def _normal(self, purpose: str, turn: int = 0) -> float:
        return _STANDARD_NORMAL.inv_cdf(self._uniform(purpose, turn))

    def _uniform(self, purpose: str, turn: int = 0) -> float:
        return _uniform(self._seed, purpose, self._session, turn)

    def _spread(self, purpose: str) -> float:
        return stratified(self._seed, f"agent {purpose}", self._session, _BASES[purpose])


def prefix_tokens(seed: int, group: int) -> int:
    """Return the length of the start that the sessions of a group share."""
    z = _STANDARD_NORMAL.inv_cdf(_uniform(seed, "prefix tokens", group))
    least, most = PREFIX_RANGE_TOKENS
    return round(min(max(PREFIX_MEAN_TOKENS + PREFIX_SD_TOKENS * z, least), most))


def _uniform(seed: int, purpose: str, entity: int, turn: int = 0) -> float:
    """Return a number strictly between 0 and 1: a quantile may be infinite at either end."""
    return uniform(seed, f"agent {purpose}", entity, turn) or 2.0**-54


def _share(z: float) -> float:
    """Return the share of standard normal numbers below one."""
    return min(_STANDARD_NORMAL.cdf(z), _GREATEST_SHARE)


def _chosen(shares: tuple[float, ...], u: float) -> tuple[int, float]:
    """Return which of some cases a number falls to, the last of them having the rest, and where in it."""
    low = 0.0
    for case, share in enumerate(shares):
        if u < low + share:
            return case, (u - low) / share
        low += share
    return len(shares), (u - low) / (1 - low)


def _at(bands: Bands, number: float) -> tuple[float, ...]:
    """Return the probabilities of the band that a number is in."""
    return bands.shares[bisect_left(bands.ends, number)]


def _tokens(number: float) -> int:
    """Return a whole number, 1 at least."""
    return max(round(number), 1)
