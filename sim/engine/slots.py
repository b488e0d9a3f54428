"""The blocks that a scheduler takes for requests: of those that run, and of those that join them."""

from collections.abc import Iterable

from sim.engine.active import ActiveRequest
from sim.kv.hit import Hit
from sim.kv.hybrid import KvCache


class Slots:
    """Allocation in one engine. `watermark_blocks` stay free when a request joins others that run."""

    __slots__ = ("_cache", "_watermark_blocks")

    def __init__(self, cache: KvCache, watermark_blocks: int) -> None:
        self._cache = cache
        self._watermark_blocks = watermark_blocks

    def grow(self, request: ActiveRequest, tokens: int) -> bool:
        """Take the blocks for `tokens` more of a running request; all or nothing.

        What it reads no longer is skipped, and returned, in any case.
        """
        cache, tables, computed = self._cache, request.tables, request.computed
        end = computed + tokens
        if cache.skips:
            cache.skip(tables, max(0, computed - request.in_flight))
        known = request.prompt_tokens + request.outputs
        prefill_end = known - 1 if request.outputs else known
        settled = end if end < known else known
        return cache.grow(tables, request.block_ids, end, settled, computed=computed, prefill_end=prefill_end)

    def join(
        self,
        request: ActiveRequest,
        tokens: int,
        hit: Hit,
        external: int,
        *,
        others_run: bool,
        reserved: int | None,
    ) -> bool:
        """Take the blocks for the first `tokens` of a waiting request beyond its hit; all or nothing.

        Its whole known sequence must fit, with a reserve if others run. Of one whose tokens are loaded before
        it runs, `reserved` blocks must be left to others; None: it runs at once.
        """
        cache, tables, prefill_end = self._cache, request.tables, request.prefill_end
        computed = request.computed or hit.tokens + external
        watermark = self._watermark_blocks if others_run else 0
        whole = cache.need(
            tables, request.num_tokens, hit, computed=computed, capped=True, prefill_end=prefill_end
        )
        if whole is None or whole + watermark > cache.pool.free_blocks:
            return False
        cache.skip(tables, max(0, computed - request.in_flight))
        free, ahead = cache.pool.free_blocks, cache.drafts.lookahead_tokens
        if reserved is not None:
            free -= reserved
            ahead = 0
        end = computed + tokens
        need = cache.need(tables, end, hit, computed=computed, ahead_tokens=ahead, prefill_end=prefill_end)
        if need is None or need + watermark > free:
            return False
        if external and reserved is None and need + cache.states_brought(computed, end) > free:
            return False
        if not tables:
            cache.admit(
                tables,
                hit,
                computed,
                prompt_tokens=request.prompt_tokens,
                junction_tokens=request.boundary_tokens,
                request_id=request.request_id,
            )
        if reserved is None:
            cache.extend(tables, end, ahead, computed=computed, prefill_end=prefill_end)
            cache.register(tables, request.block_ids, min(end, request.num_tokens))
        return True

    def reserved(self, requests: Iterable[ActiveRequest]) -> int:
        """Return the blocks that these, which were admitted, will still take for what is known of them."""
        total = 0
        for request in requests:
            need = self._cache.need(
                request.tables,
                request.num_tokens,
                computed=request.computed,
                capped=True,
                prefill_end=request.prefill_end,
            )
            total += need or 0
        return total
