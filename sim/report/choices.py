"""The costliest routing decisions, with the terms of each candidate."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from sim.base import words
from sim.report.names import WorkerNames
from sim.results.decisions import REGRET, decision_costs, expected_recomputation

MOST_CHOICES = 8
_MOST_CANDIDATES = 16

TERMS = {
    "cost": "cost",
    "raw_prefill_blocks": "prefill",
    "overlap_credit_blocks": "credit",
    "adjusted_prefill_blocks": "prefill less credit",
    "decode_blocks": "decode",
    "active_request_cost_blocks": "active requests",
}
"""Columns of table `decisions` that are shown, all in blocks, with a heading each."""


class Candidate(NamedTuple):
    """A worker that might have been chosen."""

    worker: str
    chosen: bool
    fewest: bool
    """Whether it is the one expected to recompute least."""
    expected: str
    """Tokens that it would recompute, by the router's index."""
    terms: list[str]
    """Its terms, in the order of `TERMS`."""


class Choice(NamedTuple):
    """A decision, in words."""

    request: int
    session: str
    turn: int
    at: str
    worker: str
    fewest_worker: str
    cost: str
    recomputed: str
    expected: str
    fewest: str
    elsewhere: str
    candidates: list[Candidate]
    more: int
    """Candidates left out."""
    regret: str
    """Tokens that the oracle's choice would not have computed; "" if nobody looked, or there are none."""
    oracle_worker: str


class Choices(NamedTuple):
    """The decisions of a run that placed a prefill."""

    shown: list[Choice]
    more: int
    """Further decisions with a cost."""
    cost: str
    """Tokens that all of them cost together."""
    share: str
    """The same as a share of all recomputed tokens."""
    scale: str
    """The weight of the prefill term."""
    has_index: bool
    """Whether the router knew of any cached block. If not, decisions with most tokens elsewhere are shown."""
    regret: str
    """Regret of all decisions, which are those with the most of it then; "" if nobody looked."""


def choices(
    requests: pd.DataFrame, decisions: pd.DataFrame, block_tokens: int, names: WorkerNames
) -> Choices:
    """Return the costliest decisions of a run, from its tables."""
    costs = decision_costs(requests, decisions, block_tokens)
    has_index = bool((decisions["cached_tokens"] > 0).any())
    regretted = REGRET in costs.columns
    measure = REGRET if regretted else "cost_tokens" if has_index else "elsewhere_tokens"
    costly = costs[costs[measure].fillna(0) > 0].sort_values(measure, ascending=False, kind="stable")
    shown = costly.head(MOST_CHOICES)
    rows = expected_recomputation(
        requests, decisions[decisions["request"].isin(shown["request"])], block_tokens
    )
    by_request = dict(iter(rows.groupby("request")))
    about = requests.set_index("index")
    total, recomputed = int(costs["cost_tokens"].sum()), int(requests["recomputed_tokens"].sum())
    return Choices(
        [_choice(row, about.loc[row["request"]], by_request[row["request"]], names) for row in _rows(shown)],
        len(costly) - len(shown),
        words.count(total),
        words.percent(total / recomputed if recomputed else None),
        ", ".join(f"{scale:g}" for scale in sorted(rows["prefill_load_scale"].unique())),
        has_index,
        words.count(int(costs[REGRET].fillna(0).sum())) if regretted else "",
    )


def _choice(
    cost: Mapping[str, Any], request: "pd.Series[Any]", rows: pd.DataFrame, names: WorkerNames
) -> Choice:
    # Whoever matters, then the cheapest: of many candidates most are alike.
    ahead = [cost["fewest_worker"], cost.get("oracle_worker", cost["fewest_worker"])]
    matters = rows["chosen"].astype(bool) | rows["worker"].isin(ahead)
    kept = pd.concat([rows[matters], rows[~matters].sort_values("cost", kind="stable")]).head(
        _MOST_CANDIDATES
    )
    return Choice(
        cost["request"],
        request["session"],
        request["turn"],
        words.seconds(cost["now_s"]),
        names.long(cost["worker"]),
        names.long(cost["fewest_worker"]),
        words.count(cost["cost_tokens"]),
        words.count(cost["recomputed_tokens"]),
        words.count(cost["expected_tokens"]),
        words.count(cost["fewest_tokens"]),
        words.count(cost["elsewhere_tokens"]),
        [_candidate(row, cost["fewest_worker"], names) for row in _rows(kept.sort_values("worker"))],
        len(rows) - len(kept),
        words.count(cost[REGRET]) if cost.get(REGRET) else "",
        names.long(cost["oracle_worker"]) if REGRET in cost else "",
    )


def _candidate(row: Mapping[str, Any], fewest_worker: int, names: WorkerNames) -> Candidate:
    return Candidate(
        names.short(row["worker"]),
        bool(row["chosen"]),
        row["worker"] == fewest_worker,
        words.count(row["expected_recomputed_tokens"]),
        [f"{row[term]:,.1f}" for term in TERMS],
    )


def _rows(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    return frame.to_dict("records")
