"""Dynamo 1.5.0's two recorded routers on top of the core: their recordings' names, and their own ways."""

from collections.abc import Sequence
from typing import ClassVar

from sim.base.errors import InputError
from sim.router import Booking, CostTerms, Overrides, Query, Router, RouterConfig, WorkerType
from tests.vectors.router_tally import Row

ABOUT_THE_INDEX = {
    "use_kv_events",
    "predicted_ttl_secs",
    "ttl_secs",
    "approximate_cache_policy",
    "event_threads",
    "shared_cache_multiplier",
}
"""Settings of an index that the core does not have; what it would answer is recorded with each request."""


class RecordedRouter:
    """What the two have in common."""

    name: ClassVar[str]

    def __init__(self, scenario: Row, config: RouterConfig, worker_type: WorkerType) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        self.config = config
        self.credit = config.overlap_score_credit
        """What the recorded credit of an overlap is reckoned with."""
        per_worker = scenario.get("per_worker", {})
        taints = [frozenset(per_worker.get(str(worker), {}).get("taints", ())) for worker, _ in self.ranks]
        self.router = Router(config, scenario["block_size"], len(self.ranks), taints, worker_type=worker_type)
        self._request_defaults: Row = {}
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
        return Query(
            request=0,
            isl_tokens=row["isl_tokens"],
            blocks=self.block_ids(row["prompt_blocks"]),
            overrides=Overrides(**(self._request_defaults | overrides)),
            allowed=None
            if allowed is None
            else frozenset(i for i, r in enumerate(self.ranks) if r[0] in allowed),
            pinned=None if pinned is None else self.ranks.index((pinned["worker_id"], pinned["dp_rank"])),
            required_taints=frozenset(constraints.get("required_taints", ())),
            preferred_taints=constraints.get("preferred_taints", {}),
        )

    def look_up(self, row: Row) -> None:
        """Bring the index to what it holds of a recorded request's prompt."""

    def book(self, request_id: str, query: Query, chosen: CostTerms) -> None:
        """Book a request under the id by which later lines name it."""
        self._bookings[request_id] = self.router.book(query, chosen, now_s=0.0)

    def apply(self, row: Row) -> None:
        """Apply one recorded KV event."""
        rank = self.ranks.index(tuple(row["rank"]))
        if row["op"] == "kv_cleared":
            self.router.cleared(rank)
        elif row["op"] == "kv_removed":
            self.router.removed(rank, [self.block_ids(prefix)[-1] for prefix in row["blocks"]], row["tier"])
        else:
            ids, start = self.block_ids(row["prompt_blocks"]), row["from_block"]
            self.router.stored(rank, ids[start - 1] if start else None, ids[start:], row["tier"])

    def proceed(self, row: Row) -> None:
        """Apply one recorded step in the life of a booked request."""
        booking = self._bookings[row["request_id"]]
        if row["op"] not in ("prefill_complete", "free", "add_output_block"):
            raise InputError(f"request {row['request_id']}: op = {row['op']!r} is not known")
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


class SelectionService(RecordedRouter):
    """Dynamo's router as a service of its own.

    It books blocks whatever the settings say, generated ones too, has no approximate index, and keeps its
    index where the credit is 0. The last is the core's behaviour for a credit of 0 in each request.
    """

    name = "SelectionService"

    def __init__(self, scenario: Row) -> None:
        settings = named(scenario["config"]) | {"track_active_blocks": True, "track_output_blocks": True}
        config = RouterConfig(**settings)
        credit = config.overlap_score_credit
        super().__init__(
            scenario,
            config if credit else config.model_copy(update={"overlap_score_credit": 1.0}),
            "aggregated",
        )
        self.credit = credit
        self._request_defaults = {} if credit else {"overlap_score_credit": 0.0}
        self._hears_events: bool = scenario["config"].get("use_kv_events", True)

    def apply(self, row: Row) -> None:
        """Apply one recorded KV event, if the settings say that the service listens."""
        if self._hears_events:
            super().apply(row)


class KvRouter(RecordedRouter):
    """Dynamo's router as its frontend uses it.

    Where it was recorded without KV events, its index only guessed: what that answered is recorded with each
    request, and taught to the core's index.
    """

    name = "KvRouter"

    def __init__(self, scenario: Row, *, hears_events: bool) -> None:
        super().__init__(scenario, RouterConfig(**named(scenario["config"])), "decode")
        self._hears_events = hears_events

    def look_up(self, row: Row) -> None:
        """Let each rank hold exactly what was recorded of this prompt, if nothing else told of it."""
        if self._hears_events:
            return
        ids = self.block_ids(row["prompt_blocks"])
        for rank, held in enumerate(row["device_blocks"]):
            self.router.cleared(rank)
            self.router.stored(rank, None, ids[:held], "device")


def unknown_settings(scenario: Row) -> list[str]:
    """Return the recorded settings that could change a decision, but not one of the core."""
    return sorted(named(scenario.get("config", {})).keys() - RouterConfig.model_fields.keys())


def named(recorded: Row) -> Row:
    """Return recorded settings under the core's names, those without effect left out."""
    settings = {name.removeprefix("router_"): value for name, value in recorded.items()}
    return {name: value for name, value in settings.items() if name not in ABOUT_THE_INDEX}
