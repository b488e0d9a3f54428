"""What a router believes its ranks hold: what they told, what it guesses, or both."""

from collections.abc import Sequence

import numpy as np

from sim.kv.runs import BlockRuns
from sim.router.guesses import ExpiringGuesses, Guesses
from sim.router.index import Overlap, PrefixIndex
from sim.router.index_settings import IndexSettings
from sim.router.lru_guesses import LruGuesses

NO_OVERLAP = Overlap(0, 0, 0)


class Caches:
    """One index by KV events, one by the router's own bookings; either may be missing."""

    __slots__ = ("guessed", "told")

    def __init__(self, told: PrefixIndex | None = None, guessed: Guesses | None = None) -> None:
        self.told = told
        self.guessed = guessed

    def overlap(self, blocks: BlockRuns, among: int, now_s: float) -> Overlap:
        """Return what the ranks of the set `among` hold of a prompt; the others' entries mean nothing.

        Lower tiers go on from where the events' device tier ends, so that a block that was predicted may be
        counted there once more (Dynamo 1.6.1).
        """
        if self.guessed is None:
            return NO_OVERLAP if self.told is None else self.told.overlap(blocks, among)
        guessed = self.guessed.depths(blocks, among, now_s)
        if self.told is None:
            return Overlap(guessed, 0, 0)
        told = self.told.overlap(blocks, among)
        return told._replace(device=np.maximum(told.device, guessed))

    def cleared(self, rank: int) -> None:
        """A rank holds nothing any more. What was guessed of it goes as well: a worker's recovery was seen to
        wipe it."""
        if self.told is not None:
            self.told.cleared(rank)
        if self.guessed is not None:
            self.guessed.cleared(rank)


def caches_of(
    settings: IndexSettings, ranks: int, block_tokens: int, total_kv_blocks: Sequence[int] | None
) -> Caches:
    """Return empty ones as the settings want them; without known sizes, guesses expire whatever they say."""
    if settings.use_kv_events:
        predicted_s = settings.predicted_ttl_secs
        return Caches(
            PrefixIndex(ranks), None if predicted_s is None else ExpiringGuesses(ranks, predicted_s)
        )
    if settings.approximate_cache_policy == "lru" and total_kv_blocks is not None:
        return Caches(guessed=LruGuesses(total_kv_blocks, block_tokens))
    return Caches(guessed=ExpiringGuesses(ranks, settings.ttl_secs))
