"""What every placing of a prompt let be computed that another worker had, by the caches themselves."""

from collections.abc import Sequence

from sim.cluster.request_state import RequestState
from sim.cluster.true_caches import TrueCaches
from sim.router import Decision
from sim.router.regret import RegretTotal, regret_tokens


class Regrets:
    """The regret of a run's decisions; decisions that place no prompt to compute have none."""

    __slots__ = ("_caches", "total")

    def __init__(self, caches: TrueCaches) -> None:
        self._caches = caches
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
