"""Requests that name no session, and begin like earlier ones: what Mooncake's traces are like.

A prompt begins with what all have, goes on with one of its family's prefixes, or goes on from an earlier
prompt of its family: a tree, of which each request is a path that ends in tokens of its own.
"""

from bisect import bisect, bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, Factor
from sim.base.settings import Settings
from sim.base.units import Seconds, Tokens
from sim.base.words import exactly
from sim.kv.runs import BlockRuns
from sim.workload.growing import ChunkIds, shared_start
from sim.workload.request import Answer, Request, Trace
from sim.workload.synthetic.arrivals import Arrivals, arrivals
from sim.workload.synthetic.draws import MOST_REQUESTS, Draws, SecondsDrawn, TokensDrawn


class Family(Settings):
    """Requests of one sort."""

    weight: Factor = 1.0
    """Its share of all requests is in proportion to this."""
    prompt_tokens: TokensDrawn
    """Length of a whole prompt; one token more than its prefix at least."""
    output_tokens: TokensDrawn
    """Length of an answer."""
    prefixes: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Prefixes of which each prompt has one; 0: none has any but `common_tokens`."""
    prefix_tokens: TokensDrawn = 0
    """Length of each, `common_tokens` among them."""
    slope: Annotated[float, Field(ge=0, le=100)] = 0.0
    """The k-th prefix is drawn in proportion to k to the power of minus this: 0, all alike."""
    continued_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Requests that go on from an earlier one of the family, as the next turn of a conversation."""
    continued_after_s: SecondsDrawn = (10.0, 60.0)
    """How long after it; the nearest one is taken."""


@dataclass(slots=True)
class _Sent:
    """What a family has sent."""

    shares: list[float]
    """Sums of the weights of its prefixes."""
    times: list[float] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)


class Rows(Settings):
    """Single requests at a rate, of families, with lengths by shares and prefixes that come again."""

    kind: Literal["rows"]
    """What is made."""
    requests: Annotated[int, Field(gt=0, le=MOST_REQUESTS)]
    """How many."""
    rate_per_s: Factor
    """Requests a second."""
    arrivals: Arrivals = "poisson"
    """Gaps between them."""
    grain_s: Seconds = 0.0
    """Times are cut to multiples of this, as those of Mooncake's traces (3 s); 0: none is."""
    common_tokens: Tokens = 0
    """What all prompts begin with."""
    families: Annotated[tuple[Family, ...], Field(min_length=1, max_length=100)]
    """What there is, one entry a sort."""
    chunk_tokens: Count = 512
    """What is shared is whole chunks of so many tokens."""

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        if sum(family.prefixes for family in self.families) >= MOST_PREFIXES:
            raise ValueError(f"families: at most {MOST_PREFIXES:,} prefixes together")
        return self

    def trace(self, seed: int) -> Trace:
        """Return what the settings describe."""
        draws = Draws("rows", seed)
        times = arrivals(draws, self.requests, self.rate_per_s, self.arrivals)
        if self.grain_s:
            times = [time // self.grain_s * self.grain_s for time in times]
        weights = list(accumulate(family.weight for family in self.families))
        sent = [
            _Sent(list(accumulate(k**-family.slope for k in range(1, family.prefixes + 1))))
            for family in self.families
        ]
        requests = []
        for index, time in enumerate(times):
            which = min(bisect(weights, draws.uniform("family", index) * weights[-1]), len(weights) - 1)
            request = self._request(draws, index, time, which, sent[which])
            sent[which].times.append(time)
            sent[which].requests.append(request)
            requests.append(request)
        n = len(self.families)
        note = f"generated as rows, seed {seed}: {exactly(self.requests, 'request')}, "
        note += f"{self.rate_per_s:g} a second, {n:,} {'family' if n == 1 else 'families'}"
        return Trace(tuple(requests), self.chunk_tokens, "rows", (note,), marks_answers=True)

    def _request(self, draws: Draws, index: int, time: float, which: int, sent: _Sent) -> Request:
        family = self.families[which]
        tokens = draws.tokens(family.prompt_tokens, "prompt", index)
        ids = ChunkIds(FIRST_PROMPT + index, self.chunk_tokens)
        answer = None
        if earlier := self._earlier(draws, index, time, family, sent):
            before, kept = BlockRuns.of(earlier.chunks), min(earlier.prompt_tokens, tokens - 1)
            end = earlier.prompt_tokens + earlier.output_tokens
            if tokens > end:
                answer = Answer(earlier.index, earlier.prompt_tokens, end)
        else:
            before, kept = self._start(draws, index, which, sent.shares)
            tokens = max(tokens, kept + 1)
        return Request(
            index=index,
            session=f"row-{index}",
            turn=0,
            timestamp_s=time,
            delay_s=None,
            prompt_tokens=tokens,
            output_tokens=draws.tokens(family.output_tokens, "output", index),
            chunks=ids.prompt(before, kept, tokens),
            answer=answer,
        )

    def _earlier(self, draws: Draws, index: int, time: float, family: Family, sent: _Sent) -> Request | None:
        """Return the request that one goes on from, if it does and there was any by then."""
        if not sent.times or draws.uniform("continued", index) >= family.continued_share:
            return None
        place = bisect_right(sent.times, time - draws.seconds(family.continued_after_s, "after", index))
        return sent.requests[max(place - 1, 0)]

    def _start(self, draws: Draws, index: int, which: int, shares: list[float]) -> tuple[BlockRuns, int]:
        """Return what a prompt begins with that goes on from none, and its tokens."""
        family = self.families[which]
        common = shared_start(0, self.common_tokens, self.chunk_tokens)
        if not family.prefixes:
            return common, self.common_tokens
        number = bisect(shares, draws.uniform("prefix", index) * shares[-1])
        number = min(number, family.prefixes - 1)
        least = max(self.common_tokens, 1)
        prefix = draws.tokens(family.prefix_tokens, f"prefix tokens {which}", number, least=least)
        owner = sum(earlier.prefixes for earlier in self.families[:which]) + number
        return ChunkIds(owner, self.chunk_tokens).prompt(common, self.common_tokens, prefix), prefix


MOST_PREFIXES = 1_000_000
FIRST_PROMPT = MOST_PREFIXES
"""Owners of chunk ids: first prefixes, then prompts."""
