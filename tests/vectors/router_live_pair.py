"""Live front ends before two pools that disaggregate some of the requests."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from sim.router import Booking, Query, Router, RouterConfig
from sim.router.conditional import ConditionalDisaggSettings, decide
from sim.router.pools import conditional_decode_stage, prefill_stage
from tests.vectors.live_requests import Underway, decided, unlike_choice
from tests.vectors.router_live import flags_of
from tests.vectors.router_service import BlockIds
from tests.vectors.router_tally import Row, Rows, Tally, unlike

PREFILL_S = 0.02
"""How long a recorded prefill worker takes."""


class Choice(NamedTuple):
    """One of the router's choices: on arrival, or between the pools."""

    time_s: float
    where: str
    row: Row
    decode_leg: bool


class LivePair(Underway):
    """The core as the two routers of a front end, and its requests."""

    def __init__(self, scenario: Row) -> None:
        super().__init__()
        version = scenario["version"][:3]
        base = RouterConfig(version=version)
        self._settings = ConditionalDisaggSettings(**flags_of(scenario)["conditional_disagg_config"])
        self._block_tokens = scenario["block_size"]
        self._stages = prefill_stage(base), conditional_decode_stage(base)
        self._prefill, self._decode = (
            Router(stage.config, self._block_tokens, count, worker_type=stage.worker_type)
            for stage, count in zip(
                self._stages, (scenario["num_prefill"], scenario["num_decode"]), strict=True
            )
        )
        self._ids = BlockIds()

    def _query(self, row: Row, pinned: int | None = None) -> Query:
        return Query(0, row["isl_tokens"], self._ids.of(row["prompt_blocks"]), pinned=pinned)

    def unlike(self, choice: Choice) -> Iterator[str]:
        """Compare a choice."""
        if choice.decode_leg:
            yield from self._unlike_decode(choice)
        else:
            yield from self._unlike_arrival(choice.row, choice.time_s)

    def _unlike_arrival(self, row: Row, now_s: float) -> Iterator[str]:
        peek, leg = row["legs"][:2]
        terms = self._decode.terms(self._query(row), now_s)
        yield from unlike_choice(terms, peek["chosen"], peek["logit"])
        verdict = decide(
            self._settings,
            row["isl_tokens"],
            self._block_tokens,
            terms[peek["chosen"]],
            total_kv_blocks=None,
        )
        recorded, chosen = row["decision"], terms[peek["chosen"]]
        yield from unlike("bypass", recorded["bypass"], verdict.bypass)
        yield from unlike("decode_gate_decision", recorded["decode_gate_decision"], verdict.reason)
        yield from unlike("cached_tokens", recorded["cached_tokens"], chosen.cached_tokens)
        yield from unlike("net_new_tokens", recorded["net_new_tokens"], verdict.effective_isl_tokens)
        blocks = recorded["potential_decode_blocks"]
        yield from unlike("potential_decode_blocks", blocks, verdict.potential_decode_blocks)
        if recorded["bypass"]:
            pinned = self._decode.terms(self._query(row, leg["chosen"]), now_s)
            yield from unlike_choice(pinned, leg["chosen"], leg["logit"], pinned=True)
        else:
            prefill = self._prefill.terms(self._query(row), now_s)
            yield from unlike_choice(prefill, leg["chosen"], leg["logit"])

    def _unlike_decode(self, choice: Choice) -> Iterator[str]:
        leg = choice.row["legs"][2]
        query = self._query(choice.row)._replace(overrides=self._stages[1].overrides)
        yield from unlike_choice(self._decode.terms(query, choice.time_s), leg["chosen"], leg["logit"])

    def go_on(self, choice: Choice) -> None:
        """Do what the recorded front end did."""
        row, now_s = choice.row, choice.time_s
        leg = row["legs"][2 if choice.decode_leg else 1]
        query = self._query(row, leg["chosen"])
        if not choice.decode_leg and not row["decision"]["bypass"]:
            booking = self._prefill.book(query, self._prefill.terms(query, now_s)[0], now_s)
            self.at(now_s + PREFILL_S, partial(self._computed, self._prefill, booking, query.blocks))
            self.at(now_s + PREFILL_S, partial(self._prefill.free, booking))
            return
        if choice.decode_leg:
            query = query._replace(overrides=self._stages[1].overrides)
        booking = self._decode.book(query, self._decode.terms(query, now_s)[0], now_s)
        first_s = now_s + row["first_token_after_ms"] / 1000
        self.at(first_s, partial(self._computed, self._decode, booking, query.blocks))
        self.at(now_s + row["end_after_ms"] / 1000, partial(self._decode.free, booking))

    def _computed(self, router: Router, booking: Booking, blocks: list[int], now_s: float) -> None:
        """A worker has the prompt, says so, and gives the first token."""
        router.first_token(booking, now_s)
        router.stored(booking.rank, None, blocks, "device")


def replay_live_pair(rows: Rows, tally: Tally) -> None:
    """Replay one recording."""
    front = LivePair(rows[0][1])
    choices = []
    for where, row in rows[1:]:
        if row["op"] == "request":
            choices.append(Choice(row["t"], where, row, decode_leg=False))
            if not row["decision"]["bypass"]:
                choices.append(Choice(row["t"] + PREFILL_S, where, row, decode_leg=True))
    for choice in sorted(choices, key=lambda choice: choice.time_s):
        compare = partial(LivePair.unlike, choice=choice)
        front = decided(front, choice.time_s, compare, tally, kind="live pairs of pools", where=choice.where)
        front.go_on(choice)
