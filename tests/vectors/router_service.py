"""Dynamo 1.5.0's SelectionService on top of the router core: its recordings' names, and its own ways."""

from collections.abc import Sequence
from typing import Any

from sim.router.config import Overrides, RouterConfig
from sim.router.cost import CostTerms
from sim.router.load import Booking
from sim.router.query import Query
from sim.router.router import Router

Row = dict[str, Any]
"""One line of a recording."""

WITHOUT_EFFECT = {
    "track_active_blocks",
    "use_kv_events",
    "predicted_ttl_secs",
    "ttl_secs",
    "approximate_cache_policy",
    "event_threads",
    "shared_cache_multiplier",
}
"""Settings that change nothing in SelectionService: it always books blocks, has no approximate index, no
predict-on-route and, in the recordings, no shared cache."""


class Service:
    """SelectionService as the recordings show it: the router core and the service's own ways.

    The service books blocks and leaves out the approximate index whatever the settings say, and keeps its
    index where the credit is 0. The last is the core's behaviour for a credit of 0 in each request.
    """

    def __init__(self, scenario: Row) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        self.block_size: int = scenario["block_size"]
        self._hears_events = scenario["config"].get("use_kv_events", True)
        settings = RouterConfig(**_settings(scenario["config"]))
        self.credit = settings.overlap_score_credit
        self._request_defaults: Row = {}
        if settings.overlap_score_credit == 0:
            self._request_defaults = {"overlap_score_credit": 0.0}
            settings = settings.model_copy(update={"overlap_score_credit": 1.0})
        self.config = settings
        per_worker = scenario.get("per_worker", {})
        taints = [frozenset(per_worker.get(str(worker), {}).get("taints", ())) for worker, _ in self.ranks]
        self.router = Router(settings, self.block_size, len(self.ranks), taints)
        self._block_ids: dict[tuple[int, int], int] = {}
        self._bookings: dict[str, Booking] = {}

    def block_ids(self, contents: Sequence[int]) -> list[int]:
        """Return an id for each block of a prompt that stands for the prefix up to its end."""
        ids: list[int] = []
        for content in contents:
            key = (ids[-1] if ids else -1, content)
            ids.append(self._block_ids.setdefault(key, len(self._block_ids)))
        return ids

    def query(self, row: Row, overrides: Row) -> Query:
        """Return a recorded request as the core knows it."""
        allowed, pinned = row.get("allowed_worker_ids"), row.get("pinned_worker")
        constraints = row.get("routing_constraints", {})
        named = _settings(overrides)
        return Query(
            request=0,
            isl_tokens=row["isl_tokens"],
            blocks=self.block_ids(row["prompt_blocks"]),
            overrides=Overrides(**(self._request_defaults | named)),
            allowed=None
            if allowed is None
            else frozenset(i for i, r in enumerate(self.ranks) if r[0] in allowed),
            pinned=None if pinned is None else self.ranks.index((pinned["worker_id"], pinned["dp_rank"])),
            required_taints=frozenset(constraints.get("required_taints", ())),
            preferred_taints=constraints.get("preferred_taints", {}),
        )

    def apply(self, row: Row) -> None:
        """Apply one recorded KV event."""
        if not self._hears_events:
            return
        rank = self.ranks.index(tuple(row["rank"]))
        if row["op"] == "kv_cleared":
            self.router.cleared(rank)
        elif row["op"] == "kv_removed":
            self.router.removed(rank, [self.block_ids(prefix)[-1] for prefix in row["blocks"]], row["tier"])
        else:
            ids, start = self.block_ids(row["prompt_blocks"]), row["from_block"]
            self.router.stored(rank, ids[start - 1] if start else None, ids[start:], row["tier"])

    def book(self, request_id: str, query: Query, chosen: CostTerms) -> None:
        """Book a request under the id by which later lines name it."""
        self._bookings[request_id] = self.router.book(query, chosen, now_s=0.0)

    def proceed(self, row: Row) -> None:
        """Apply one recorded step in the life of a booked request."""
        booking = self._bookings[row["request_id"]]
        if row["op"] == "prefill_complete":
            self.router.first_token(booking, now_s=0.0)
        elif row["op"] == "free":
            self.router.free(booking, now_s=0.0)
        else:
            self.router.loads.add_output_block(booking, row["decay_fraction"])

    def load(self) -> Row:
        """Return the booked load as the recordings print it."""
        loads = self.router.loads
        return {
            "active_prefill_tokens": loads.prefill_tokens,
            "active_decode_blocks": loads.active_blocks,
            "active_requests": loads.requests,
        }


def _settings(recorded: Row) -> Row:
    """Return recorded settings under the core's names, those without effect left out."""
    named = {name.removeprefix("router_"): value for name, value in recorded.items()}
    return {name: value for name, value in named.items() if name not in WITHOUT_EFFECT}
