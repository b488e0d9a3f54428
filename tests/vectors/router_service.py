"""Dynamo 1.5.0's two recorded routers on top of the core: their recordings' names, and their own ways."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from sim.base.errors import InputError
from sim.router import Booking, CostTerms, Overrides, Query, Router, RouterConfig
from sim.router.affinity import Affinity, Hold
from sim.router.policies.policy import cheapest
from sim.router.rules import RULES
from tests.vectors.router_tally import Row


class BlockIds:
    """Ids of blocks that stand for the whole prefix up to the block's end."""

    def __init__(self) -> None:
        self._ids: dict[tuple[int, object], int] = {}

    def of(self, contents: Iterable[object]) -> list[int]:
        """Return an id for each block of a prompt, of which only the contents are recorded."""
        ids: list[int] = []
        for content in contents:
            key = (ids[-1] if ids else -1, content)
            ids.append(self._ids.setdefault(key, len(self._ids)))
        return ids


class RecordedRouter:
    """What the two have in common."""

    name: ClassVar[str]

    def __init__(self, scenario: Row, config: RouterConfig, *, service: bool) -> None:
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        self.config = config
        self.now_s = 0.0
        """Of the last line that says when it was, in seconds."""
        per_worker = scenario.get("per_worker", {})
        taints = [frozenset(per_worker.get(str(worker), {}).get("taints", ())) for worker, _ in self.ranks]
        self.router = Router(config, scenario["block_size"], len(self.ranks), taints, service=service)
        self.block_ids = BlockIds().of
        self._bookings: dict[str, Booking] = {}

    def query(self, row: Row, overrides: Row) -> Query:
        """Return a recorded request as the core knows it."""
        allowed, pinned = row.get("allowed_worker_ids"), row.get("pinned_worker")
        constraints = row.get("routing_constraints", {})
        return Query(
            request=0,
            isl_tokens=row["isl_tokens"],
            blocks=self.block_ids(row["prompt_blocks"]),
            overrides=Overrides(**overrides),
            allowed=None
            if allowed is None
            else frozenset(i for i, r in enumerate(self.ranks) if r[0] in allowed),
            pinned=None if pinned is None else self.ranks.index((pinned["worker_id"], pinned["dp_rank"])),
            required_taints=frozenset(constraints.get("required_taints", ())),
            preferred_taints=constraints.get("preferred_taints", {}),
        )

    def look_up(self, row: Row) -> None:
        """Come to the time of a recorded request."""
        self.now_s = row.get("t", self.now_s)

    def may_choose(self, row: Row, query: Query, terms: Sequence[CostTerms]) -> Iterable[int]:
        """Return the ranks between which only chance decides."""
        override = RULES[self.config.version].counting(query.overrides).temperature
        temperature = self.config.temperature if override is None else override
        return [t.rank for t in terms] if temperature else cheapest(terms)

    def book(self, request_id: str, query: Query, chosen: CostTerms) -> None:
        """Book a request under the id by which later lines name it."""
        self._bookings[request_id] = self.router.book(query, chosen, now_s=self.now_s)

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
            self.router.first_token(booking, now_s=self.now_s)
        elif row["op"] == "free":
            self.router.free(booking, now_s=self.now_s)
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

    It books blocks whatever the settings say, generated ones too, and from 1.6 on keeps sessions with their
    ranks whatever the load.
    """

    name = "SelectionService"

    def __init__(self, scenario: Row) -> None:
        settings = settings_of(scenario) | {"track_active_blocks": True, "track_output_blocks": True}
        super().__init__(scenario, RouterConfig(**settings), service=True)
        ttl_s = scenario.get("session_affinity_ttl_secs")
        self._affinity = None if ttl_s is None else Affinity(ttl_s)
        self._holds: dict[str, Hold] = {}
        """By request: its session is bound from its first reservation on."""

    def may_choose(self, row: Row, query: Query, terms: Sequence[CostTerms]) -> Iterable[int]:
        """Return the ranks between which only chance decides; one if the session has been there."""
        session = row.get("session_context", {}).get("session_id")
        if session is None or self._affinity is None:
            return super().may_choose(row, query, terms)
        bound = self._affinity.rank(session, self.now_s)
        if row["op"] == "select_and_reserve":
            hold = self._affinity.take(session, self.now_s)
            assert hold is not None
            self._affinity.bind(hold, self.ranks.index(tuple(row["chosen"])), self.now_s)
            self._holds[row["request_id"]] = hold
        return super().may_choose(row, query, terms) if bound is None else [bound]

    def proceed(self, row: Row) -> None:
        """Apply one recorded step; a session's binding outlasts its last request by its time."""
        super().proceed(row)
        if row["op"] == "free" and self._affinity is not None and row["request_id"] in self._holds:
            self._affinity.release(self._holds.pop(row["request_id"]), self.now_s)


class KvRouter(RecordedRouter):
    """Dynamo's router as its frontend uses it."""

    name = "KvRouter"

    def __init__(self, scenario: Row) -> None:
        super().__init__(scenario, RouterConfig(**settings_of(scenario)), service=False)


def unknown_settings(scenario: Row) -> list[str]:
    """Return the recorded settings that the core does not have."""
    return sorted(named(scenario.get("config", {})).keys() - RouterConfig.model_fields.keys())


def settings_of(scenario: Row) -> Row:
    """Return the settings of a recording's first line, the release among them."""
    return named(scenario["config"]) | {"version": scenario.get("version", "1.5.0")[:3]}


def named(recorded: Row) -> Row:
    """Return recorded settings under the core's names."""
    return {name.removeprefix("router_"): value for name, value in recorded.items()}
