"""How many tokens of a request one step computes (vLLM's scheduler)."""

from sys import maxsize

from sim.engine.active import ActiveRequest
from sim.engine.chunk import chunk_tokens
from sim.engine.rules.chunk_stops import ChunkStops
from sim.engine.rules.prefill_threshold import PrefillThreshold
from sim.engine.settings import EngineSettings
from sim.engine.speculation import Speculation
from sim.kv.hybrid import KvCache


class ChunkSizes:
    """The bounds of one engine, as plain numbers: they are looked at for every request of every step."""

    def __init__(
        self,
        cache: KvCache,
        settings: EngineSettings,
        speculation: Speculation | None,
        threshold: PrefillThreshold,
        stops: ChunkStops,
    ) -> None:
        self.varies = threshold.varies
        """Whether the bounds of a step have to be asked for: `begin_step`."""
        self._threshold = threshold
        self._long_prefill_tokens = threshold.tokens
        self._stops = stops
        self._max_model_len = settings.max_model_len or maxsize
        self._prefill_lookahead = speculation.prefill_lookahead_tokens if speculation is not None else 0
        self._recurrent = bool(cache.recurrent)
        self._most_tokens = self._capped(settings.max_num_batched_tokens)

    def begin_step(self, requests: int) -> None:
        """A step is planned while so many requests run or wait."""
        self._long_prefill_tokens = self._threshold.of_step(requests)

    def of_running(self, request: ActiveRequest, budget: int) -> int:
        """Tokens of a running request, its drafts among them; 0: it is passed over."""
        if request.ends:
            return 0
        computed = request.computed
        tokens = request.uncomputed + request.drafts
        if tokens > 1:
            tokens = min(self._capped(tokens), budget)
        left = self._max_model_len - 1 - computed
        tokens = min(tokens, left)
        if self._recurrent:
            tokens = self._cut(request, computed, tokens)
        return self._leave_lookahead(request, computed, tokens) if self._prefill_lookahead > 1 else tokens

    def of_waiting(self, request: ActiveRequest, start: int, padding: int, budget: int) -> int:
        """Tokens of a waiting request from `start` on; 0: none, and none behind it are admitted.

        One that joins decodes with a single token is filled up with drafts to their size, or waits.
        """
        tokens = request.num_tokens - start + padding
        if padding and (tokens > budget or start + tokens > self._max_model_len):
            return 0
        tokens = min(self._capped(tokens), budget)
        if self._recurrent:
            tokens = self._cut(request, start, tokens)
        return self._leave_lookahead(request, start, tokens)

    def _capped(self, tokens: int) -> int:
        threshold = self._long_prefill_tokens
        return min(tokens, threshold) if threshold > 0 else tokens

    def _cut(self, request: ActiveRequest, start: int, tokens: int) -> int:
        if tokens <= 0:
            return tokens
        return chunk_tokens(request, start, tokens, self._stops, self._most_tokens)

    def _leave_lookahead(self, request: ActiveRequest, start: int, tokens: int) -> int:
        """Shorten a chunk that would end so near to the known end that drafting lacks tokens to read."""
        left = request.num_tokens - start - tokens
        if 0 < left < self._prefill_lookahead:
            return max(0, tokens - (self._prefill_lookahead - left))
        return tokens
