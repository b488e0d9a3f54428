"""Comparisons of routing policies: which they are, what is shown of them, how far each is from the oracle."""

from sim.runs.comparison import Comparison
from sim.runs.comparison_rows import Point
from sim.runs.paired import Estimate

ORACLE = "oracle"
"""The policy that knows what each worker holds."""
DISTANCE = "prefill.recomputation"
"""The number of which the distance from the oracle is told."""

SHOWN = (
    "ttft_s.p50",
    "ttft_s.p95",
    "prefill.recomputation",
    "workers_per_session.mean",
    "throughput.requests_per_s",
    "requests.rejected",
    "router.regret_share",
)
"""What policies are compared for, unless something else is asked for."""


def policies_of(comparison: Comparison) -> dict[str, str]:
    """Return the policy of each scenario where they are the policies of one or more scenarios.

    They have the policy's name then, perhaps behind another name; none otherwise.
    """
    found = {}
    for run in comparison.runs:
        policy = run.value("router.policy")
        if run.scenario.rpartition("/")[2] != policy:
            return {}
        found[run.scenario] = str(policy)
    return found if len(found) > 1 else {}


def above_oracle(
    comparison: Comparison, policies: dict[str, str], name: str, point: Point
) -> Estimate | None:
    """Return the recomputation of a scenario less that of its oracle, paired; None without an oracle."""
    prefix = name.removesuffix(policies[name])
    oracle = f"{prefix}{ORACLE}"
    if policies.get(oracle) != ORACLE:
        return None
    if name == oracle:
        return Estimate(0.0, None, None, 0)
    pair = Comparison([oracle, name], [run for run in comparison.runs if run.scenario in {oracle, name}])
    if point not in pair.points:
        return None
    (row,) = (row for row in pair.rows([DISTANCE]) if row.point == point)
    return row.differences[name]
