"""Which requests of a disaggregated cluster skip prefill: a decode worker computes prompt and answer."""

from sim.cluster.refused import Refused
from sim.cluster.request_state import RequestState
from sim.cluster.stage import Stage
from sim.router.conditional import ConditionalDisaggSettings, decide


class Bypass:
    """The choice between two stages and one (Dynamo 1.5.0).

    Args:
        prefill: the stage that is skipped.
        peek: the decode workers, asked who would be chosen.
        local: the decode workers, serving as aggregated ones do.
        settings: of conditional disaggregation; None: prefill is skipped only where no worker is left for it.
        block_tokens: of a block.
        max_num_batched_tokens: of a prefill worker.
    """

    def __init__(
        self,
        prefill: Stage,
        peek: Stage,
        local: Stage,
        settings: ConditionalDisaggSettings | None,
        *,
        block_tokens: int,
        max_num_batched_tokens: int,
    ) -> None:
        self.local = local
        self._prefill = prefill
        self._peek = peek
        self._settings = settings
        self._block_tokens = block_tokens
        self._max_num_batched_tokens = max_num_batched_tokens

    def rank(self, record: RequestState) -> int | None:
        """Return the rank of the decode worker that serves a request alone; None: it takes both stages."""
        alive = self._prefill.pool.alive
        if alive is not None and not alive:
            decision = self._peek.choose(record)
            return None if isinstance(decision, Refused) else decision.chosen.rank
        return None if self._settings is None else self._decided(record, self._settings)

    def _decided(self, record: RequestState, settings: ConditionalDisaggSettings) -> int | None:
        peek = self._peek.choose(record)
        prefill = self._prefill.choose(record) if settings.asks_prefill else None
        if isinstance(peek, Refused):
            return None
        verdict = decide(
            settings,
            record.prompt_tokens,
            self._block_tokens,
            peek.chosen,
            total_kv_blocks=self._peek.pool.worker(0).engine.cache.pool.num_blocks,
            prefill=None if prefill is None or isinstance(prefill, Refused) else prefill.chosen,
            max_num_batched_tokens=self._max_num_batched_tokens,
        )
        return peek.chosen.rank if verdict.bypass else None
