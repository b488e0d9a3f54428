"""How often the real router drew each rank at a temperature, against the core's sampler."""

from collections import Counter

from scipy.stats import chi2

from sim.router.cost import CostTerms
from sim.router.policies.kv import Kv
from sim.router.query import Query
from tests.vectors.router_tally import Rows, Tally

REJECTED_BELOW = 1e-3
"""Probability of a chi-square at least as large below which a distribution counts as another one."""
BLANK = CostTerms(*[0] * len(CostTerms._fields))
EMPTY = Query(request=0, isl_tokens=1, blocks=())


def replay_draws(rows: Rows, tally: Tally) -> None:
    """Compare distributions by chi-square.

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
        unlikely = f"drawn {row['counts']}, ours {ours}, chi-square {statistic:.2f}"
        found = [] if likely and not impossible else [unlikely]
        tally.compared(f"softmax distributions (chi-square, p >= {REJECTED_BELOW})", where, found)
