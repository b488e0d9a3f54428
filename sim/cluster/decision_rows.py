"""The table of routing decisions: a row for every candidate of each."""

from sim.cluster.regrets import Regrets
from sim.cluster.request_state import RequestState
from sim.results.rows import Table
from sim.results.tables import FRONT_END, REGRET
from sim.router import Decision


class DecisionRows:
    """Of one run.

    Args:
        table: None: nobody asks for it.
        regrets: of decisions; None: nobody asks.
        front_ends: how many; of several, the table says which one decided.
    """

    __slots__ = ("_front_ends", "_regrets", "_table")

    def __init__(self, table: Table | None, regrets: Regrets | None, front_ends: int) -> None:
        self._table = table
        self._regrets = regrets
        if regrets is not None and table is not None:
            table.add_column(REGRET, ())
        self._front_ends: list[int] | None = [] if front_ends > 1 else None
        """By row."""

    def routed(
        self,
        record: RequestState,
        decision: Decision,
        stage: str,
        workers: range,
        now_s: float,
        *,
        counts: bool,
    ) -> None:
        """One of the workers, by rank, was chosen for a stage; `counts`: the request is not left out."""
        index, chosen = record.request.index, decision.chosen.rank
        regrets = None
        if self._regrets is not None:
            regrets = self._regrets.of(record, decision, stage, workers, counts=counts)
        if self._table is None:
            return
        for place, terms in enumerate(decision.terms):
            more = () if regrets is None else (regrets[place],)
            row = (index, stage, now_s, terms.rank == chosen, workers[terms.rank], *terms[1:], *more)
            self._table.append(row)
        if self._front_ends is not None:
            self._front_ends += [record.front_end] * len(decision.terms)

    def close(self) -> None:
        """The run is over."""
        if self._table is not None and self._front_ends is not None:
            self._table.add_column(FRONT_END, self._front_ends)
