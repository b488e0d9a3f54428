"""The candidates of a decision: their cost terms, kept by columns."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from sim.router.columns import Column, entries
from sim.router.cost import CostTerms


class Candidates(Sequence[CostTerms]):
    """The `CostTerms` of the ranks that may serve a request, each of them made when it is looked at."""

    __slots__ = ("_cheapest", "_terms", "ranks")

    def __init__(self, ranks: Sequence[int], terms: Sequence[Column]) -> None:
        """Take the candidates' ranks and a column for each further field of `CostTerms`."""
        self.ranks = ranks
        self._terms = terms
        self._cheapest: list[int] | None = None

    @classmethod
    def of(cls, terms: Sequence[CostTerms]) -> "Candidates":
        """Return any sequence of terms by columns."""
        if isinstance(terms, Candidates):
            return terms
        ranks, *columns = zip(*terms, strict=True)
        return cls(ranks, [np.array(column) for column in columns])

    @property
    def costs(self) -> NDArray[np.float64]:
        """The cost of each candidate."""
        costs = self._terms[0]
        assert isinstance(costs, np.ndarray)
        return costs

    def column(self, name: str) -> Column:
        """Return a field of the terms, by its name, for all candidates."""
        return self._terms[CostTerms._fields.index(name) - 1]

    def cheapest(self) -> list[int]:
        """Return the ranks that share the least cost."""
        if self._cheapest is None:
            self._cheapest = self._least(self.costs)
        return self._cheapest

    def least_loaded(self) -> list[int]:
        """Return the ranks that share the smallest number of running requests."""
        requests = self._terms[-1]
        assert isinstance(requests, np.ndarray)
        return self._least(requests)

    def _least(self, column: NDArray[np.float64]) -> list[int]:
        places = (column == column[column.argmin()]).nonzero()[0]
        ranks = self.ranks
        return [ranks[place] for place in places.tolist()]

    def __len__(self) -> int:
        return len(self.ranks)

    @overload
    def __getitem__(self, index: int) -> CostTerms: ...
    @overload
    def __getitem__(self, index: slice) -> list[CostTerms]: ...
    def __getitem__(self, index: int | slice) -> CostTerms | list[CostTerms]:
        if isinstance(index, slice):
            return list(self)[index]
        numbers = [c.item(index) if isinstance(c, np.ndarray) else c for c in self._terms]
        return CostTerms._make((self.ranks[index], *numbers))

    def __iter__(self) -> Iterator[CostTerms]:
        count = len(self.ranks)
        columns = [entries(column, count) for column in self._terms]
        return map(CostTerms._make, zip(self.ranks, *columns, strict=True))
