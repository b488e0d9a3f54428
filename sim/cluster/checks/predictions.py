"""What a router predicts of its ranks' caches beside their KV events, of this room's own."""

from collections.abc import Iterable


class Predictions:
    """The blocks that one router sent to each rank, for a while."""

    def __init__(self, ranks: int, ttl_s: float | None) -> None:
        """`ttl_s` is how long they count; None: the router predicts nothing."""
        self._ttl_s = ttl_s
        self._until_s: list[dict[int, float]] = [{} for _ in range(ranks)]

    def sent(self, rank: int, blocks: Iterable[int], now_s: float) -> None:
        """A prompt with these full blocks was booked on a rank."""
        if self._ttl_s is not None:
            self._until_s[rank].update(dict.fromkeys(blocks, now_s + self._ttl_s))

    def forget(self, rank: int) -> None:
        """A rank holds nothing any more."""
        self._until_s[rank].clear()

    def depth(self, rank: int, blocks: Iterable[int], now_s: float) -> int:
        """Return how many of a prompt's first blocks a rank is taken to hold."""
        until_s, depth = self._until_s[rank], 0
        if until_s:
            for block in blocks:
                if until_s.get(block, now_s) <= now_s:
                    break
                depth += 1
        return depth
