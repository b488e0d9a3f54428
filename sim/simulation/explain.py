"""Why a request went where it went: the terms of each candidate, what settled it, what it cost afterwards."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sim.base.errors import InputError
from sim.base.shown import Shown
from sim.results import explanation
from sim.results.decisions import REGRET, decision_costs, expected_recomputation
from sim.results.explanation import Choice, Fewest, Regret, Why
from sim.results.plain import plain_rows
from sim.router.config import RouterConfig
from sim.router.policies import make_policy, reads_cache

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

OWN_POLICY = "routing: a policy passed by the caller"
"""The note of a run whose choices are not those of its scenario's policy."""


class Explanation(Shown, explanation.Explanation):
    """How one request was routed, and what became of it. Shows the page that `sim explain` prints."""

    def __rich__(self) -> "RenderableType":
        """Return the page that `sim explain` prints."""
        from sim.show.text.explanation import render_explanation  # noqa: PLC0415 - loads rich

        return render_explanation(self)


def find_request(requests: "pd.DataFrame", text: str) -> int:
    """Return the index of a request that is named by its index, or by session and turn: "talk-3:7".

    Raises:
        InputError: there is none; says which there are.

    """
    if text.isdecimal():
        if int(text) in set(requests["index"]):
            return int(text)
        first, last = requests["index"].min(), requests["index"].max()
        raise InputError(f"request {text}: there is none; indices go from {first} to {last}")
    session, colon, turn = text.rpartition(":")
    if not colon or not turn.isdecimal():
        some = f"{requests['session'].iloc[0]}:{requests['turn'].iloc[0]}"
        raise InputError(f"request {text}: give an index, such as 17, or session:turn, such as {some}")
    turns = requests[requests["session"] == session]
    if turns.empty:
        names = sorted(set(requests["session"]))
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        raise InputError(f"request {text}: no session is called {session!r}; there are {shown}")
    found = turns[turns["turn"] == int(turn)]
    if found.empty:
        first, last = turns["turn"].min(), turns["turn"].max()
        raise InputError(f"request {text}: the turns of {session} go from {first} to {last}")
    return int(found["index"].iloc[0])


def explain(
    requests: "pd.DataFrame",
    decisions: "pd.DataFrame",
    index: int,
    *,
    block_tokens: int,
    router: RouterConfig,
    notes: Sequence[str] = (),
    conditional: bool = False,
    versions: Mapping[str, str] | None = None,
) -> Explanation:
    """Return how a request was routed.

    Args:
        requests, decisions: the tables of a run (`sim.results.tables`).
        index: the request's.
        block_tokens: tokens of a block, as router and engines have them.
        router: what the router was told.
        notes: of the run: whether its choices are the scenario's policy's.
        conditional: whether disaggregation is.
        versions: whose rules hold.

    """
    row = requests[requests["index"] == index]
    mine = decisions[decisions["request"] == index]
    mine = mine.drop_duplicates(["leg", "now_s", "worker"], keep="last")
    expected = expected_recomputation(row, mine, block_tokens)
    placed = set(zip(expected["leg"], expected["now_s"], strict=True))
    choices = [
        _choice(expected if moment in placed else group, router, own_policy=OWN_POLICY in notes)
        for moment, group in mine.groupby(["leg", "now_s"], sort=False)
    ]
    costs = plain_rows(decision_costs(row, mine, block_tokens))
    fewest = regret = None
    if costs:
        best = costs[0]["fewest_worker"]
        (cost,) = expected.loc[expected["worker"] == best, "cost"]
        fewest = Fewest(best, costs[0]["fewest_tokens"], costs[0]["expected_tokens"], cost)
        if costs[0].get(REGRET) is not None:
            regret = Regret(costs[0]["oracle_worker"], costs[0][REGRET])
    return Explanation(
        block_tokens, plain_rows(row)[0], tuple(choices), fewest, conditional, regret, versions or {}
    )


def _choice(group: "pd.DataFrame", router: RouterConfig, *, own_policy: bool) -> Choice:
    candidates = plain_rows(group)
    chosen = next(row for row in candidates if row["chosen"])
    least = min(row["cost"] for row in candidates)
    cheapest = tuple(row["worker"] for row in candidates if row["cost"] == least)
    why: Why = "tie" if len(cheapest) > 1 else "lowest-cost"
    if len(candidates) == 1:
        why = "only-candidate"
    elif own_policy and chosen["leg"] != "decode":
        why = "own-policy"
    elif router.policy != "kv":
        why = "policy"
    elif router.temperature:
        why = "temperature"
    return Choice(
        chosen["leg"],
        chosen["now_s"],
        chosen["worker"],
        why,
        router.policy,
        reads_cache(make_policy(router)),
        router.temperature,
        cheapest,
        tuple(candidates),
    )
