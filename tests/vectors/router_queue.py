"""Replays recordings of Dynamo's router queue, step by step: who goes in which order to whom, who is refused.

Between equally cheap workers the real router draws; the recorded one is taken if it is among them. Both
releases were recorded from the SelectionService, which takes no policy class from a request.
"""

from collections.abc import Iterator, Sequence

import yaml

from sim.base.errors import InputError
from sim.router import Booking, Query, Router, RouterConfig
from sim.router.policies.policy import cheapest
from sim.router.queue.arbiter import CursorRule, cursor_rule
from sim.router.queue.classes import queue_classes
from sim.router.queue.policy_config import PolicyConfig
from sim.router.queue.queue import QueueRefusal, RouterQueue
from tests.vectors.router_tally import Row, Rows, Tally, unlike

BLOCK_TOKENS = 16


def version_of(scenario: Row) -> str:
    """Return the release of a recording: those without a version are of 1.5.0."""
    return ".".join(str(scenario.get("version", "1.5.0")).split(".")[:2])


def replay_queue(rows: Rows, tally: Tally) -> None:
    """Replay one recording, of either release."""
    queue = RecordedQueue(rows[0][1])
    for where, row in rows[1:]:
        tally.decided(f"steps of the router's queue ({queue.version})", where, queue.step(row))


class RecordedQueue:
    """One recording: a router and the queue in front of it."""

    def __init__(self, scenario: Row, rule: CursorRule | None = None) -> None:
        """Build what was recorded, with the rule of its release unless another one is given."""
        self.ranks = [tuple(rank) for rank in scenario["ranks"]]
        text = scenario.get("policy_yaml")
        config = RouterConfig(
            queue_threshold=scenario.get("threshold"),
            queue_policy=scenario.get("policy", "fcfs"),
            policy_config=None if text is None else PolicyConfig(**yaml.safe_load(text)),
        )
        classes = queue_classes(config, max_num_batched_tokens=scenario["max_num_batched_tokens"])
        if classes is None:
            raise InputError(f"{scenario['name']}: a recording of a queue has a threshold or a policy file")
        self.router = Router(config, BLOCK_TOKENS, len(self.ranks), worker_type="aggregated")
        self.version = version_of(scenario)
        self.queue = RouterQueue(self.router, classes, rule or cursor_rule(self.version))
        self._names: list[str] = []
        self._bookings: dict[str, Booking] = {}
        self._blocks = 0

    def step(self, row: Row) -> Iterator[str]:
        """Carry out one recorded step; yield what is otherwise."""
        recorded = [(name, self.rank(worker)) for name, worker in row["released"]]
        refused: QueueRefusal | None = None
        if row["op"] == "submit":
            query = self._query(row)
            found = self.queue.enter(query, row["t"])
            ours: list[tuple[str, int]] = []
            if found is None:
                ours = [self._admit(query, recorded, 0)]
            elif isinstance(found, QueueRefusal):
                refused = found
        else:
            booking = self._bookings.get(row["request_id"])
            if booking is None:
                yield f"request {row['request_id']} is admitted, ours is not"
                return
            act = {"prefill_complete": self.router.first_token, "free": self.router.free}[row["op"]]
            act(booking, 0.0)
            ours = self._drain(recorded)
        yield from unlike("released", recorded, ours)
        text = None if refused is None else str(refused)
        yield from unlike("refused", row["refused"][1] if row.get("refused") else None, text)
        state = {
            "pending_count": len(self.queue),
            "pending_isl_tokens": self.queue.isl_tokens,
            "active_prefill_tokens": self.router.loads.prefill_tokens,
        }
        yield from unlike("state", row["state"], state)

    def rank(self, worker: int) -> int:
        """Return the rank of a recorded worker."""
        return self.ranks.index((worker, 0))

    def _query(self, row: Row) -> Query:
        isl_tokens, pinned = row["isl_tokens"], row.get("pinned_worker")
        full = isl_tokens // BLOCK_TOKENS  # all prompts are distinct
        blocks = range(self._blocks, self._blocks + full)
        self._blocks += full
        self._names.append(row["request_id"])
        allowed = row.get("allowed_worker_ids")
        return Query(
            request=len(self._names) - 1,
            isl_tokens=isl_tokens,
            blocks=blocks,
            allowed=None if allowed is None else frozenset(map(self.rank, allowed)),
            pinned=None if pinned is None else self.ranks.index((pinned["worker_id"], pinned["dp_rank"])),
            priority_jump=row["priority_jump"],
            strict_priority=row["strict_priority"],
        )

    def _drain(self, recorded: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        ours: list[tuple[str, int]] = []
        while (query := self.queue.next(0.0)) is not None:
            ours.append(self._admit(query, recorded, len(ours)))
        return ours

    def _admit(self, query: Query, recorded: Sequence[tuple[str, int]], place: int) -> tuple[str, int]:
        """Book a request with the recorded worker if that is one of the cheapest, else with the first."""
        terms = self.router.terms(query, 0.0)
        best = cheapest(terms)
        rank = recorded[place][1] if place < len(recorded) and recorded[place][1] in best else best[0]
        name = self._names[query.request]
        chosen = next(each for each in terms if each.rank == rank)
        self._bookings[name] = self.router.book(query, chosen, 0.0)
        return name, rank
