"""Recorded decisions of the real router, against the core: choice, cost terms, load after each step."""

from collections.abc import Iterator, Sequence

from sim.router.cost import CostTerms, round_half_away
from sim.router.policies.policy import cheapest
from tests.vectors.router_service import KvRouter, RecordedRouter, SelectionService, named
from tests.vectors.router_tally import Row, Rows, Tally, unlike

PRINTED_WITHIN = {"effective_cached_blocks": 0.5e-2 + 1e-9}
"""The log prints three decimals, and two here."""
LOGIT_WITHIN = 1e-9
UNCONSTRAINED: Row = {"allowed_worker_ids": None, "pinned_worker": None, "routing_constraints": {}}


def unlike_lookups(service: RecordedRouter, row: Row) -> Iterator[str]:
    """Compare overlaps and potential loads of all ranks, which the service asks for without the constraints.

    It answers from its settings alone, without the request's overrides.
    """
    everywhere = service.router.terms(service.query({**row, **UNCONSTRAINED}, {}), now_s=0.0)
    host, disk = service.config.host_cache_hit_weight, service.config.disk_cache_hit_weight
    uncached = [max(row["isl_tokens"] - t.cached_tokens, 0) for t in everywhere]
    ours: Row = {
        "device_blocks": [t.device_blocks for t in everywhere],
        "host_extension_blocks": [t.host_blocks for t in everywhere],
        "disk_extension_blocks": [t.disk_blocks for t in everywhere],
        "router_credit_blocks": [
            service.credit * t.device_blocks + host * t.host_blocks + disk * t.disk_blocks for t in everywhere
        ],
        "potential_prefill_tokens": [
            t.active_prefill_tokens + (tokens if service.config.track_prefill_tokens else 0)
            for t, tokens in zip(everywhere, uncached, strict=True)
        ],
        "potential_decode_blocks": [t.decode_blocks for t in everywhere],
    }
    rank = service.ranks.index(tuple(row["chosen"]))
    if "returned_overlap_blocks" in row:
        t = everywhere[rank]  # rounded
        effective = t.device_blocks + host * t.host_blocks + disk * t.disk_blocks
        ours["returned_overlap_blocks"] = round_half_away(effective)
    else:
        ours["effective_prefill_tokens"] = uncached[rank]
    for name, value in ours.items():
        yield from unlike(name, row[name], value)


def unlike_log(service: RecordedRouter, logged: Row, terms: Sequence[CostTerms]) -> Iterator[str]:
    """Compare every number that the router's debug log printed for each candidate."""
    yield from unlike("scored", logged["scored"], [list(service.ranks[t.rank]) for t in terms])
    host, disk = service.config.host_cache_hit_weight, service.config.disk_cache_hit_weight
    for name in sorted(logged.keys() - {"kind", "scored", "selected_logit"}):
        if name == "cost":  # printed before the factor of preferred taints
            ours = [t.cost / t.taint_factor for t in terms]
        elif name == "effective_cached_blocks":
            ours = [t.device_blocks + host * t.host_blocks + disk * t.disk_blocks for t in terms]
        else:
            ours = [getattr(t, name) for t in terms]
        recorded = logged[name] if isinstance(logged[name], list) else [logged[name]] * len(ours)
        close = [
            abs(a - b) <= PRINTED_WITHIN.get(name, 0.5e-3 + 1e-9) for a, b in zip(recorded, ours, strict=True)
        ]
        if not all(close):
            yield f"{name}: recorded {recorded}, ours {ours}"


def unlike_decision(service: RecordedRouter, row: Row, tally: Tally, where: str) -> Iterator[str]:
    """Let the core decide a recorded request, compare, and book it where the recording did."""
    yield from unlike_state("before", service, row, tally, where)
    service.look_up(row)
    query = service.query(row, named(row.get("router_config_override", {})))
    decision = service.router.choose(query, now_s=0.0, draw=0.0)
    terms = decision.terms
    override = query.overrides.temperature
    temperature = service.config.temperature if override is None else override
    predicted = [t.rank for t in terms] if temperature else cheapest(terms)
    rank = service.ranks.index(tuple(row["chosen"]))
    chosen = next((t for t in terms if t.rank == rank), None)
    if chosen is None or rank not in predicted:
        yield f"chosen: recorded {row['chosen']}, ours one of {[service.ranks[rank] for rank in predicted]}"
    if chosen is None:
        return
    logit = row["logged"][
        "selected_logit"
    ]  # null for pinned requests, whose line in the log has none in full
    if logit is not None and abs(chosen.cost - logit) > LOGIT_WITHIN:
        yield f"selected_logit: recorded {logit!r}, ours {chosen.cost!r}"
    yield from unlike_log(service, row["logged"], terms)
    yield from unlike_lookups(service, row)
    if row["op"] == "select_and_reserve":
        service.book(row["request_id"], query, chosen)
    yield from unlike_state("after", service, row, tally, where)


def unlike_state(name: str, service: RecordedRouter, row: Row, tally: Tally, where: str) -> Sequence[str]:
    """Compare the booked load of all ranks."""
    found = [*unlike(name, row[name], service.load())]
    tally.compared(f"load states of {service.name}", where, found)
    return found


def replay_decisions(rows: Rows, tally: Tally) -> None:
    """Replay one recording of a router."""
    scenario = rows[0][1]
    service: RecordedRouter
    if scenario["name"].startswith("k"):
        service = KvRouter(scenario, hears_events=any(row["op"].startswith("kv_") for _, row in rows))
    else:
        service = SelectionService(scenario)
    for where, row in rows[1:]:
        if row["op"].startswith("kv_"):
            service.apply(row)
        elif row["op"] in ("select", "select_and_reserve"):
            found = list(unlike_decision(service, row, tally, where))
            tally.decided(f"decisions of {service.name}", where, found)
        else:
            service.proceed(row)
            unlike_state("after", service, row, tally, where)
