"""Replays recordings of the real Dynamo 1.5.0 router: `python -m tests.vectors.router DIR`.

Every `*.jsonl` of DIR is replayed: recordings of the router's SelectionService, of its softmax draws, of its
bookings as they grow old, and of KvRouter, the router in Dynamo's frontend. Where that one had no KV events
but guessed overlaps, its guesses are taken from the recording.
Exit status 0 only if everything agrees, 1 if something does not, 2 if there is nothing to replay, and 3 if
all that was replayed agrees, but some recordings, which are named, are of what is not modelled (0 with
--allow-skipped).
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy.stats import chi2

from sim.base.errors import InputError
from sim.router import Booking, Router, RouterConfig
from sim.router.cost import CostTerms, round_half_away
from sim.router.expiry import AgeLimit
from sim.router.policies.kv import Kv
from sim.router.policies.policy import cheapest
from sim.router.query import Query
from tests.vectors.router_service import (
    KvRouter,
    RecordedRouter,
    Row,
    SelectionService,
    named,
    unknown_settings,
)
from tests.vectors.skipped import NO_INPUT, Skipped

PRINTED_WITHIN = {"effective_cached_blocks": 0.5e-2 + 1e-9}
"""The log prints three decimals, and two here."""
LOGIT_WITHIN = 1e-9
REJECTED_BELOW = 1e-3
"""Probability of a chi-square at least as large below which a distribution counts as another one."""


@dataclass
class Tally:
    """What was compared and what did not agree."""

    decisions: int = 0
    agreeing: int = 0
    single_best: int = 0
    states: int = 0
    agreeing_states: int = 0
    ageing_states: int = 0
    agreeing_ageing_states: int = 0
    draws: int = 0
    agreeing_draws: int = 0
    problems: list[str] = field(default_factory=list)


def unlike(name: str, recorded: object, ours: object) -> Iterator[str]:
    """Yield a line if two values that must be equal are not."""
    if recorded != ours:
        yield f"{name}: recorded {recorded}, ours {ours}"


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


def replay_decision(service: RecordedRouter, row: Row, tally: Tally) -> Iterator[str]:
    """Let the core decide a recorded request, compare, and book it where the recording did."""
    yield from compare_state("before", service, row, tally)
    service.look_up(row)
    query = service.query(row, named(row.get("router_config_override", {})))
    decision = service.router.choose(query, now_s=0.0, draw=0.0)
    terms = decision.terms
    override = query.overrides.temperature
    temperature = service.config.temperature if override is None else override
    predicted = [t.rank for t in terms] if temperature else cheapest(terms)
    tally.single_best += len(predicted) == 1
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
    yield from compare_state("after", service, row, tally)


def compare_state(name: str, service: RecordedRouter, row: Row, tally: Tally) -> Iterator[str]:
    """Compare the booked load of all ranks."""
    tally.states += 1
    found = list(unlike(name, row[name], service.load()))
    tally.agreeing_states += not found
    yield from found


def replay_service(rows: Sequence[tuple[str, Row]], tally: Tally) -> None:
    """Replay one recording of a router; each row comes with where it stands."""
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
            found = [f"{where}: {problem}" for problem in replay_decision(service, row, tally)]
            tally.decisions += 1
            tally.agreeing += not found
            tally.problems += found
        else:
            service.proceed(row)
            tally.problems += [f"{where}: {p}" for p in compare_state("after", service, row, tally)]


def replay_draws(rows: Sequence[tuple[str, Row]], tally: Tally) -> None:
    """Compare how often the real router drew each rank with what the core's sampler does.

    The sampler gets as many evenly spaced draws, so its counts are what it would give on average.
    """
    for where, row in rows:
        terms = [BLANK._replace(rank=rank, cost=cost) for rank, cost in enumerate(row["costs"])]
        policy, draws = Kv(row["router_temperature"]), row["draws"]
        sampled = Counter(policy(terms, EMPTY, (i + 0.5) / draws) for i in range(draws))
        ours = [sampled[rank] for rank in range(len(terms))]
        impossible = [n for n, expected in zip(row["counts"], ours, strict=True) if n and not expected]
        cells = [(n, expected) for n, expected in zip(row["counts"], ours, strict=True) if expected]
        statistic = sum((n - expected) ** 2 / expected for n, expected in cells)
        # One certain rank leaves nothing to chance.
        likely = len(cells) == 1 or chi2.sf(statistic, len(cells) - 1) >= REJECTED_BELOW
        agrees = not impossible and likely
        tally.draws += 1
        tally.agreeing_draws += agrees
        if not agrees:
            tally.problems.append(f"{where}: drawn {row['counts']}, ours {ours}, chi-square {statistic:.2f}")


def replay_expiry(rows: Sequence[tuple[str, Row]], tally: Tally) -> None:
    """Replay bookings that grow old with the service, one prompt of 40 tokens again and again.

    The limit stands in the name of the file: expiry30.jsonl is of 30 seconds.
    """
    limit_s = float(rows[0][0].partition(":")[0].removeprefix("expiry").removesuffix(".jsonl"))
    ranks = next(len(row["loads"]) for _, row in rows if row["op"] == "loads")
    config = RouterConfig(active_request_expiry_secs=limit_s)
    router = Router(config, 16, ranks, worker_type="aggregated", expiry=AgeLimit(limit_s, ranks))
    bookings: dict[str, Booking] = {}
    for where, row in rows[1:]:
        now_s = row["t"]
        if row["op"] == "book":
            query = Query(request=len(bookings), isl_tokens=40, blocks=(0, 1), pinned=row["rank"])
            bookings[row["rid"]] = router.book(query, router.terms(query, now_s)[0], now_s)
        elif row["op"] == "prefill_complete":
            router.first_token(bookings[row["rid"]], now_s)
        elif row["op"] == "free":
            router.free(bookings[row["rid"]], now_s)
        elif row["op"] == "loads":
            router.terms(EMPTY, now_s)
            ours = router.loads.columns().T.tolist()
            found = [f"{where}: {problem}" for problem in unlike("loads", row["loads"], ours)]
            tally.ageing_states += 1
            tally.agreeing_ageing_states += not found
            tally.problems += found
        else:
            raise InputError(f"{where}: op = {row['op']!r} is not known in a recording of expiry")


def read(path: Path) -> list[tuple[str, Row]]:
    """Return the rows of a recording, each with its file and line."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            rows.append((f"{path.name}:{number}", json.loads(line)))
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}: not a JSON object ({error})") from error
    kinds = sorted(REPLAYS.keys() | NOT_MODELLED.keys())
    if not rows or rows[0][1].get("op") not in kinds:
        raise InputError(f"{path}:1: no recording of the router starts here; op is one of {kinds}")
    return rows


def replay(skipped: Skipped, tally: Tally, kv_router: Tally) -> int:
    """Replay the recordings of a folder and return how many those were.

    Raises:
        InputError: one cannot be read.
    """
    replayed = 0
    for path in skipped.recordings():
        rows = read(path)
        first = rows[0][1]
        if first["op"] in NOT_MODELLED:
            what, counted = NOT_MODELLED[first["op"]]
            skipped.add(path, f"{what}, {sum(row['op'] != 'queue_scenario' for _, row in rows)} {counted}")
        elif unknown := unknown_settings(first):
            skipped.add(path, f"settings that the core does not have: {', '.join(unknown)}")
        else:
            of_frontend = str(first.get("name", "")).startswith("k")
            REPLAYS[first["op"]](rows, kv_router if of_frontend else tally)
            replayed += 1
    return replayed


def main(arguments: Sequence[str]) -> int:
    """Replay a directory, print what came out, and return the exit status."""
    skipped = Skipped.from_arguments(arguments, "python -m tests.vectors.router")
    if skipped is None:
        return NO_INPUT
    tally, kv_router = Tally(), Tally()
    try:
        if not replay(skipped, tally, kv_router):
            skipped.show()
            raise InputError(f"{skipped.folder}: no recording of the router that can be replayed")
    except InputError as error:
        print(error, file=sys.stderr)
        return NO_INPUT
    problems = tally.problems + kv_router.problems
    for problem in problems:
        print(problem)
    skipped.show()
    show(tally, kv_router)
    return skipped.status(agrees=not problems)


def show(tally: Tally, kv_router: Tally) -> None:
    """Print how much agrees."""
    print(
        f"{tally.agreeing_draws} of {tally.draws} softmax distributions agree with the sampler "
        f"(chi-square, p >= {REJECTED_BELOW})"
    )
    if tally.ageing_states:
        print(f"{tally.agreeing_ageing_states} of {tally.ageing_states} load states of ageing bookings agree")
    if kv_router.decisions:
        print(
            f"KvRouter: {kv_router.agreeing_states} of {kv_router.states} load states agree, "
            f"{kv_router.agreeing} of {kv_router.decisions} decisions agree"
        )
    print(f"{tally.agreeing_states} of {tally.states} load states agree")
    print(f"{tally.single_best} of {tally.decisions} decisions had a single best worker")
    print(f"{tally.agreeing} of {tally.decisions} decisions agree")


UNCONSTRAINED: Row = {"allowed_worker_ids": None, "pinned_worker": None, "routing_constraints": {}}
BLANK = CostTerms(*[0] * len(CostTerms._fields))
EMPTY = Query(request=0, isl_tokens=1, blocks=())
REPLAYS = {"scenario": replay_service, "softmax": replay_draws, "workers": replay_expiry}
"""By the op of a recording's first line."""
NOT_MODELLED = {
    "queue_scenario": ("the router's queue", "steps"),
    "block_hash": ("hashes of tokens, where the core has identities", "rows"),
}
"""What recordings are of that the core cannot be held against, and what their lines are."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
