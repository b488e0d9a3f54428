"""Replays recordings of the real Dynamo 1.5.0 router: `python -m tests.vectors.router DIR`.

Every `s*.jsonl` of DIR is replayed: recordings of the router's SelectionService, and of its softmax draws. So
is every `k*.jsonl`: recordings of KvRouter, the router in Dynamo's frontend. It had no KV events but guessed
overlaps; its guesses are taken from the recording.
Exit status 0 only if everything agrees, 1 if something does not, 2 if there is nothing to replay.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy.stats import chi2

from sim.errors import InputError
from sim.router.cost import CostTerms, round_half_away
from sim.router.policies import Kv, cheapest
from sim.router.query import Query
from tests.vectors.router_service import KvRouter, RecordedRouter, Row, SelectionService, named

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
        elif row["op"].startswith("select"):
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
        query = Query(request=0, isl_tokens=1, blocks=())
        sampled = Counter(policy(terms, query, (i + 0.5) / draws) for i in range(draws))
        ours = [sampled[rank] for rank in range(len(terms))]
        impossible = [n for n, expected in zip(row["counts"], ours, strict=True) if n and not expected]
        cells = [(n, expected) for n, expected in zip(row["counts"], ours, strict=True) if expected]
        statistic = sum((n - expected) ** 2 / expected for n, expected in cells)
        agrees = not impossible and chi2.sf(statistic, len(cells) - 1) >= REJECTED_BELOW
        tally.draws += 1
        tally.agreeing_draws += agrees
        if not agrees:
            tally.problems.append(f"{where}: drawn {row['counts']}, ours {ours}, chi-square {statistic:.2f}")


def read(path: Path) -> list[tuple[str, Row]]:
    """Return the rows of a recording, each with its file and line."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        try:
            rows.append((f"{path.name}:{number}", json.loads(line)))
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}: not a JSON object ({error})") from error
    if not rows or rows[0][1].get("op") not in REPLAYS:
        raise InputError(f"{path}:1: no recording of the router starts here; op is one of {sorted(REPLAYS)}")
    return rows


def replay(directory: Path, pattern: str) -> Tally:
    """Replay the recordings of a directory whose names match.

    Raises:
        InputError: one cannot be read.
    """
    tally = Tally()
    for path in sorted(directory.glob(pattern)):
        rows = read(path)
        REPLAYS[rows[0][1]["op"]](rows, tally)
    return tally


def main(arguments: Sequence[str]) -> int:
    """Replay a directory, print what came out, and return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tests.vectors.router DIR", file=sys.stderr)
        return 2
    directory = Path(arguments[0])
    try:
        if not any(directory.glob("s*.jsonl")):
            raise InputError(
                f"{directory}: no file s*.jsonl; a directory with recordings of the router is expected"
            )
        tally, kv_router = replay(directory, "s*.jsonl"), replay(directory, "k*.jsonl")
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    problems = tally.problems + kv_router.problems
    for problem in problems:
        print(problem)
    print(
        f"{tally.agreeing_draws} of {tally.draws} softmax distributions agree with the sampler "
        f"(chi-square, p >= {REJECTED_BELOW})"
    )
    if kv_router.decisions:
        print(
            f"KvRouter: {kv_router.agreeing_states} of {kv_router.states} load states agree, "
            f"{kv_router.agreeing} of {kv_router.decisions} decisions agree"
        )
    print(f"{tally.agreeing_states} of {tally.states} load states agree")
    print(f"{tally.single_best} of {tally.decisions} decisions had a single best worker")
    print(f"{tally.agreeing} of {tally.decisions} decisions agree")
    return 1 if problems else 0


UNCONSTRAINED: Row = {"allowed_worker_ids": None, "pinned_worker": None, "routing_constraints": {}}
BLANK = CostTerms(*[0] * len(CostTerms._fields))
REPLAYS = {"scenario": replay_service, "softmax": replay_draws}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
