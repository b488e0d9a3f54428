"""What every placing of a prompt let be computed that another worker had, by the caches themselves.

And, when a run is over, what the best placing of all prompts would have had to compute all the same
(`sim.router.lookahead`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sim.cluster.request_state import RequestState
from sim.cluster.true_caches import TrueCaches
from sim.kv.runs import BlockRuns
from sim.router import Decision
from sim.router.lookahead import LookUp, fewest_misses
from sim.router.regret import RegretTotal, regret_tokens


class _Admitted(NamedTuple):
    """An engine looked a prompt up and began to compute it."""

    request: int
    blocks: BlockRuns
    tail_tokens: int
    answer: BlockRuns | None


class Regrets:
    """The regret of a run's decisions; decisions that place no prompt to compute have none."""

    __slots__ = ("_admitted", "_block_tokens", "_caches", "_last", "total")

    def __init__(self, caches: TrueCaches, block_tokens: int) -> None:
        """Look into these caches, with attention blocks of so many tokens."""
        self._caches = caches
        self._block_tokens = block_tokens
        self._admitted: list[_Admitted] = []
        self._last: dict[int, int] = {}
        """By request, the place of its last admission."""
        self.total = RegretTotal()
        """Of the requests that count."""

    def of(
        self, record: RequestState, decision: Decision, stage: str, workers: range, *, counts: bool
    ) -> Sequence[int | None]:
        """Return the regret of each candidate, had it been chosen, right after a decision; None: no meaning.

        `counts`: whether the chosen one's is added to the total.
        """
        ranks = decision.terms.ranks
        if stage == "decode":
            return [None] * len(ranks)
        cached_tokens: Sequence[int] = [0] * len(workers)
        if len(ranks) > 1:
            cached_tokens = self._caches.look(
                record.blocks, record.prompt_tokens, workers, for_remote=stage == "prefill"
            )
        if counts:
            regret = regret_tokens(cached_tokens, ranks, decision.chosen.rank)
            self.total.add(regret, record.prompt_tokens)
        return [regret_tokens(cached_tokens, ranks, rank) for rank in ranks]

    def admitted(self, record: RequestState, prompt_tokens: int) -> None:
        """An engine admits a request whose prompt it has to compute, as many tokens as it counts.

        What was generated before its worker was lost is no part of the prompt.
        """
        tokens = min(prompt_tokens, record.request.prompt_tokens)
        full = min(tokens // self._block_tokens, len(record.attention_blocks))
        answer = record.attention_sequence if record.returns else None
        tail_tokens = tokens - full * self._block_tokens
        self._last[record.request.index] = len(self._admitted)
        self._admitted.append(
            _Admitted(record.request.index, record.attention_blocks[:full], tail_tokens, answer)
        )

    def dropped(self, index: int) -> None:
        """A request does not count: it was left out, or its prompt may not have been computed wholly."""
        self._last.pop(index, None)

    def summary(self) -> dict[str, Any]:
        """Return the numbers under their names in summaries, when the run is over.

        Of a prompt that was admitted again, its blocks having been lost, only the last time counts.
        """
        last = set(self._last.values())
        look_ups = [
            LookUp(each.blocks, place in last, each.answer) for place, each in enumerate(self._admitted)
        ]
        tails = sum([self._admitted[place].tail_tokens for place in last])
        least, ever = (
            fewest_misses(look_ups, room) * self._block_tokens + tails
            for room in (self._caches.capacity_blocks(), None)
        )
        return self.total.summary() | {
            "least_computed_tokens": least,
            "least_computed_tokens_unbounded": ever,
        }
