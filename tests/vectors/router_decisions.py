"""Recorded decisions of the real router, against the core: choice, cost terms, load after each step."""

from collections.abc import Iterator, Sequence

from sim.router.cost import CostTerms, round_half_away
from tests.vectors.router_service import KvRouter, RecordedRouter, SelectionService, named
from tests.vectors.router_tally import LOGIT_WITHIN, Row, Rows, Tally, unlike

PRINTED_WITHIN = {"effective_cached_blocks": 0.5e-2 + 1e-9}
"""The log prints three decimals, and two here."""
UNCONSTRAINED: Row = {"allowed_worker_ids": None, "pinned_worker": None, "routing_constraints": {}}


def unlike_lookups(service: RecordedRouter, row: Row) -> Iterator[str]:
    """Compare overlaps and potential loads of all ranks, which the service asks for without the constraints.

    It answers from its settings alone, without the request's overrides.
    """
    everywhere = service.router.terms(service.query({**row, **UNCONSTRAINED}, {}), now_s=service.now_s)
    host, disk = service.config.host_cache_hit_weight, service.config.disk_cache_hit_weight
    credit = service.config.overlap_score_credit
    uncached = [max(row["isl_tokens"] - t.cached_tokens, 0) for t in everywhere]
    ours: Row = {
        "device_blocks": [t.device_blocks for t in everywhere],
        "host_extension_blocks": [t.host_blocks for t in everywhere],
        "disk_extension_blocks": [t.disk_blocks for t in everywhere],
        "router_credit_blocks": [
            credit * t.device_blocks + host * t.host_blocks + disk * t.disk_blocks for t in everywhere
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
    if service.config.version != "1.5":
        del ours["router_credit_blocks"]  # answered no more
    for name, value in ours.items():
        yield from unlike(name, row[name], value)


def unlike_log(service: RecordedRouter, logged: Row, terms: Sequence[CostTerms]) -> Iterator[str]:
    """Compare every number that is recorded of each candidate: from the debug log, as it rounds, or, as 1.6
    logs none, the costs in full from asking for each alone."""
    yield from unlike("scored", logged["scored"], [list(service.ranks[t.rank]) for t in terms])
    in_full = logged["kind"].startswith("Selected")
    host, disk = service.config.host_cache_hit_weight, service.config.disk_cache_hit_weight
    for name in sorted(logged.keys() - {"kind", "worker_type", "scored", "selected_logit"}):
        if name == "cost":  # printed before the factor of preferred taints
            ours = [t.cost / t.taint_factor for t in terms]
        elif name == "cost_after_taints":
            ours = [t.cost for t in terms]
        elif name == "effective_cached_blocks":
            ours = [t.device_blocks + host * t.host_blocks + disk * t.disk_blocks for t in terms]
        else:
            ours = [getattr(t, name) for t in terms]
        recorded = logged[name] if isinstance(logged[name], list) else [logged[name]] * len(ours)
        within = LOGIT_WITHIN if in_full else PRINTED_WITHIN.get(name, 0.5e-3 + 1e-9)
        if any(abs(a - b) > within for a, b in zip(recorded, ours, strict=True)):
            yield f"{name}: recorded {recorded}, ours {ours}"


def unlike_decision(service: RecordedRouter, row: Row, tally: Tally, where: str) -> Iterator[str]:
    """Let the core decide a recorded request, compare, and book it where the recording did."""
    yield from unlike_state("before", service, row, tally, where)
    service.look_up(row)
    query = service.query(row, named(row.get("router_config_override", {})))
    terms = service.router.choose(query, now_s=service.now_s, draw=0.0).terms
    predicted = [*service.may_choose(row, query, terms)]
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
    of_frontend = scenario["name"].startswith("k")
    service: RecordedRouter = KvRouter(scenario) if of_frontend else SelectionService(scenario)
    for where, row in rows[1:]:
        if row["op"].startswith("kv_"):
            service.apply(row)
        elif row["op"] in ("select", "select_and_reserve"):
            found = list(unlike_decision(service, row, tally, where))
            tally.decided(f"decisions of {service.name}", where, found)
        else:
            service.proceed(row)
            unlike_state("after", service, row, tally, where)
