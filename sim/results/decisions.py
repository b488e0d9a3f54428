"""What routing decisions cost: prompt tokens computed again that another candidate need not have computed.

Of a prompt, the tokens that an earlier prompt contained are *known*, and those of an earlier request's answer
(prompt less `required_tokens`, and `returned_tokens`). A worker that holds the prompt's first blocks, in any
tier, is expected to recompute the known tokens behind them. Which blocks a worker holds is what the router's
index said when it chose, no more and no less: blocks that the index never heard of are not counted, as of a
CPU tier without events of its own; nor are blocks on their way. Of a hybrid model it has the attention
blocks; it does not say whether a checkpoint of the recurrent state was there too.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

REGRET = "regret_tokens"
"""A column that decisions have in runs with `output.regret`."""
_TIERS = ["device_blocks", "host_blocks", "disk_blocks"]


def expected_recomputation(
    requests: "pd.DataFrame", decisions: "pd.DataFrame", block_tokens: int
) -> "pd.DataFrame":
    """Return the decisions that placed a prefill, a row a candidate, with `expected_recomputed_tokens` added.

    Of a request that was tried again, since its worker was lost, it is the last one, which served it. A
    prompt that a decode worker computes for itself, by conditional disaggregation, has one candidate.

    Args:
        requests, decisions: the tables of a run (`sim.results.tables`).
        block_tokens: tokens of a block, as router and engines have them.

    """
    rows = _last_of_each(decisions[decisions["leg"] != "decode"])
    required = requests["required_tokens"] - requests["returned_tokens"].fillna(0)
    known = (requests["prompt_tokens"] - required).set_axis(requests["index"])
    overlap_tokens = rows[_TIERS].sum(axis=1) * block_tokens
    behind = rows["request"].map(known).astype("Int64") - overlap_tokens.astype("Int64")
    return rows.assign(expected_recomputed_tokens=behind.clip(lower=0))


def _last_of_each(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the rows of each request's last decision."""
    last_s = rows.groupby("request")["now_s"].transform("max")
    return rows[rows["now_s"] == last_s].drop_duplicates(["request", "worker"], keep="last")


def decision_costs(requests: "pd.DataFrame", decisions: "pd.DataFrame", block_tokens: int) -> "pd.DataFrame":
    """Return a row for each decision that placed a prefill, the costliest first; arguments as above.

    Columns, tokens all:

    - `request`, `leg`, `now_s`, `worker`: the decision, and who was chosen;
    - `expected_tokens`: what the chosen worker was expected to recompute;
    - `fewest_worker`, `fewest_tokens`: the candidate expected to recompute least; of several the chosen one,
      else the first;
    - `recomputed_tokens`: what the request recomputed in the end, null if it never came to it;
    - `elsewhere_tokens`: those of them that another worker held, whatever the index knew;
    - `cost_tokens`: the lesser of expected and recomputed, less the fewest, at least 0. So a hit that failed
      on the chosen worker is not held against the choice, nor what was hit without the index knowing of it.

    Of a run with `output.regret`, by what the caches truly held when the router chose:

    - `regret_tokens`: what the chosen worker would compute and another candidate had;
    - `oracle_worker`: the candidate that would compute least; of several the chosen one, else the cheapest.

    A router without an index expects the same of all candidates, so that every `cost_tokens` is 0. Equal
    costs are in descending order of `elsewhere_tokens`.
    """
    rows = expected_recomputation(requests, decisions, block_tokens)
    expected = "expected_recomputed_tokens"
    by_expected = rows.sort_values([expected, "chosen"], ascending=[True, False], kind="stable")
    fewest = by_expected.drop_duplicates("request").set_index("request")
    costs = rows[rows["chosen"].astype(bool)][["request", "leg", "now_s", "worker", expected]]
    costs = costs.rename(columns={expected: "expected_tokens"})
    costs["fewest_worker"] = costs["request"].map(fewest["worker"])
    costs["fewest_tokens"] = costs["request"].map(fewest[expected])
    outcomes = requests.set_index("index")
    computed = outcomes["first_scheduled_s"].notna()
    for name in ("recomputed_tokens", "elsewhere_tokens"):
        costs[name] = costs["request"].map(outcomes[name].where(computed)).astype("Int64")
    if REGRET in rows.columns:
        costs[REGRET] = costs["request"].map(rows[rows["chosen"].astype(bool)].set_index("request")[REGRET])
        costs["oracle_worker"] = costs["request"].map(_oracle(rows))
    least = costs[["expected_tokens", "recomputed_tokens"]].min(axis=1, skipna=False)
    costs["cost_tokens"] = (least - costs["fewest_tokens"]).clip(lower=0)
    order = ["cost_tokens", "elsewhere_tokens", "request"]
    return costs.sort_values(order, ascending=[False, False, True], ignore_index=True)


def _oracle(rows: "pd.DataFrame") -> "pd.Series[Any]":
    """Return, by request, the worker that would compute the fewest tokens."""
    order = rows.sort_values([REGRET, "chosen", "cost"], ascending=[True, False, True], kind="stable")
    return order.drop_duplicates("request").set_index("request")["worker"]
