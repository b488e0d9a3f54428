"""The table of requests by columns, as numbers are made of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.results.rows import Table, Values
from sim.results.tables import ROUTER_QUEUE
from sim.results.weighted import WeightedSample


class RequestColumns:
    """Of one table of requests; those of `completed` ones are named by a mask, and those of `sent` ones."""

    def __init__(self, requests: Table) -> None:
        self._requests = requests
        self.status = requests.column("status")
        self.completed = np.array([status == "completed" for status in self.status], dtype=np.bool_)
        self.sent = self.values("send_s").measured

    def all(self, name: str) -> list[Any]:
        """Return the values of a column, None where there is none."""
        return self._requests.column(name)

    def values(self, name: str) -> Values:
        """Return the values of a column, and which were measured."""
        return self._requests.values(name)

    def measured(self, name: str) -> NDArray[Any]:
        """Return the values of a column that were measured."""
        values, measured = self.values(name)
        return values[measured]

    def total(self, name: str, *, where: NDArray[np.bool_] | None = None) -> int:
        """Return the sum of a column, over these requests if they are named."""
        values, measured = self.values(name)
        return int(values[measured if where is None else measured & where].sum())

    def completed_by(self, until_s: float) -> NDArray[np.bool_]:
        """Return which requests were completed by a time."""
        in_time: NDArray[np.bool_] = self.completed & (self.values("end_s").values <= until_s)
        return in_time

    def sample(self, name: str, *, where: NDArray[np.bool_] | None = None) -> WeightedSample:
        """Return the values of a column, those of completed requests unless others are named."""
        values, measured = self.values(name)
        return _sample(values[measured & (self.completed if where is None else where)])

    def router_queue(self) -> dict[str, WeightedSample]:
        """Return the waits at routers, by name, of all that came to one; nothing where there is no queue."""
        name = ROUTER_QUEUE.name
        return {"queue_s": self.sample(name, where=self.sent)} if self._requests.has(name) else {}

    def since_due(self, end: str) -> WeightedSample:
        """Return the times from due to a column's, of completed requests."""
        due, end_s = self.values("due_s"), self.values(end)
        known = due.measured & end_s.measured & self.completed
        return _sample(end_s.values[known] - due.values[known])


def _sample(values: NDArray[np.float64]) -> WeightedSample:
    sample = WeightedSample()
    sample.add_many(values)
    return sample
