"""In which jobs blocks are copied to the first tier.

0.28.0: one job a request and step, of all groups; without room for all of it the next step tries again.
0.33.0: recurrent states by themselves, each in a job of its own, once, when it becomes findable; one that
finds no room is lost. All other groups as before.
"""

from sim.engine.rule_set import Version
from sim.kv.groups import Table
from sim.kv.hybrid import KvCache

Offer = tuple[Table, int, int]
"""A state that became findable: its table, its group, its position."""


class OneJob:
    """vLLM 0.28.0."""

    __slots__ = ("left_out",)

    def __init__(self) -> None:
        self.left_out: list[int] = []
        """Groups that are not copied with the others."""

    def take_offers(self) -> list[Offer]:
        """Return the states to be copied by themselves, in order, since this was last asked."""
        return []


class StatesApart(OneJob):
    """vLLM 0.33.0."""

    __slots__ = ("_cache",)

    def __init__(self, cache: KvCache) -> None:
        super().__init__()
        self._cache = cache
        self.left_out = [group for group, spec in enumerate(cache.specs) if spec.kind == "recurrent"]
        for group in cache.recurrent:
            group.offers = []

    def take_offers(self) -> list[Offer]:
        """Return the states to be copied by themselves, in order, since this was last asked.

        That is by request in order of first offer, of each by group.
        """
        by_request: dict[int, list[Offer]] = {}
        for number, group in zip(self.left_out, self._cache.recurrent, strict=True):
            if group.offers:
                for table, position in group.offers:
                    by_request.setdefault(table.request_id, []).append((table, number, position))
                group.offers = []
        return [offer for offers in by_request.values() for offer in offers]


def tier_stores(version: Version, cache: KvCache) -> OneJob:
    """Return the rule of a release."""
    return OneJob() if version == "0.28" or not cache.recurrent else StatesApart(cache)
