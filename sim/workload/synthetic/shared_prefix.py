"""Groups of prompts that begin alike, at rates that change by stages, as inference-perf's `shared_prefix`."""

from itertools import accumulate
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, Factor
from sim.base.settings import Settings
from sim.base.units import Seconds
from sim.base.words import exactly
from sim.kv.runs import BlockRuns
from sim.workload.growing import FIRST_OWN_SCOPE, ChunkIds, shared_start
from sim.workload.request import Request, Trace
from sim.workload.synthetic.arrivals import Arrivals, arrivals
from sim.workload.synthetic.draws import MOST_REQUESTS, Draws, TokensDrawn


class Stage(Settings):
    """A time of one rate: its rate times its duration, rounded, are its requests."""

    rate_per_s: Factor
    """Requests a second."""
    duration_s: Annotated[Seconds, Field(gt=0)]
    """How long they come."""

    @property
    def requests(self) -> int:
        """How many come."""
        return round(self.rate_per_s * self.duration_s)


class SharedPrefix(Settings):
    """Prompts of groups: a prefix that the group shares and a question of its own."""

    kind: Literal["shared-prefix"]
    """What is made."""
    groups: Annotated[int, Field(gt=0, le=FIRST_OWN_SCOPE)]
    """Prefixes."""
    prompts_per_group: Annotated[int, Field(gt=0, le=MOST_REQUESTS)]
    """Prompts with each. Each stage sends them in the same random order, from the first on; after the last of
    them comes the first again (inference-perf 7de5ef2e, `run_stage`)."""
    prefix_tokens: TokensDrawn
    """What a group shares."""
    question_tokens: TokensDrawn
    """What a prompt has behind it."""
    output_tokens: TokensDrawn
    """Length of an answer."""
    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=10_000)]
    """Rates, one after another."""
    pause_s: Seconds = 0.0
    """From the end of one stage to the start of the next."""
    arrivals: Arrivals = "poisson"
    """Gaps between requests."""
    chunk_tokens: Count = 16
    """What is shared is whole chunks of so many tokens."""

    @model_validator(mode="after")
    def _not_too_many(self) -> Self:
        n = sum(stage.requests for stage in self.stages)
        if not 0 < n <= MOST_REQUESTS:
            raise ValueError(f"stages: have {exactly(n, 'request')} together; give 1 to {MOST_REQUESTS:,}")
        if self.groups * self.prompts_per_group > MOST_REQUESTS:
            raise ValueError(f"groups x prompts_per_group: at most {MOST_REQUESTS:,}")
        return self

    def trace(self, seed: int) -> Trace:
        """Return what the settings describe."""
        draws = Draws("shared-prefix", seed)
        times = self._times(draws)
        longest = max(stage.requests for stage in self.stages)
        prompts = self._prompts(draws, min(longest, self.groups * self.prompts_per_group))
        requests, tags = [], self._tags()
        for index, (time, number, place) in enumerate(times):
            group, tokens, chunks = prompts[place % len(prompts)]
            requests.append(
                Request(
                    index=index,
                    session=f"group-{group}-{index}",
                    turn=0,
                    timestamp_s=time,
                    delay_s=None,
                    prompt_tokens=tokens,
                    output_tokens=draws.tokens(self.output_tokens, "output", index),
                    chunks=chunks,
                    tag=tags[number],
                )
            )
        n = len(self.stages)
        note = f"generated as shared-prefix, seed {seed}: {exactly(len(requests), 'request')}, "
        note += f"{exactly(self.groups, 'group')} "
        note += f"of {exactly(self.prompts_per_group, 'prompt')}, "
        note += exactly(n, "stage")
        return Trace(
            tuple(requests), self.chunk_tokens, "shared-prefix", (note,), marks_answers=True, has_tags=True
        )

    def _prompts(self, draws: Draws, n: int) -> list[tuple[int, int, BlockRuns]]:
        """Return the first `n` prompts that are sent: group, tokens and chunks."""
        found = []
        for number in draws.order(self.groups * self.prompts_per_group, "order")[:n]:
            group = number // self.prompts_per_group
            prefix = draws.tokens(self.prefix_tokens, "prefix", group)
            tokens = prefix + draws.tokens(self.question_tokens, "question", number)
            shared = shared_start(group, prefix, self.chunk_tokens)
            chunks = ChunkIds(number, self.chunk_tokens).prompt(shared, prefix, tokens)
            found.append((group, tokens, chunks))
        return found

    def _tags(self) -> list[str]:
        """Return what requests of each stage are called: its rate, and of equal ones which it is."""
        rates = [f"{stage.rate_per_s:g}" for stage in self.stages]
        seen = [rates[: number + 1].count(rate) for number, rate in enumerate(rates)]
        return [f"rate-{rate}" + (f"-{n}" if n > 1 else "") for rate, n in zip(rates, seen, strict=True)]

    def _times(self, draws: Draws) -> list[tuple[float, int, int]]:
        """Return when requests come, in order, with the stage of each and its place there.

        The last of a stage may come after its end.
        """
        starts = accumulate((stage.duration_s + self.pause_s for stage in self.stages), initial=0.0)
        times: list[tuple[float, int, int]] = []
        for number, (start, stage) in enumerate(zip(starts, self.stages, strict=False)):
            within = arrivals(draws, stage.requests, stage.rate_per_s, self.arrivals, first=len(times))
            times += [(start + time, number, place) for place, time in enumerate(within)]
        return sorted(times)
