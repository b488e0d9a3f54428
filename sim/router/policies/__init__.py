"""Who gets a request. A policy is any callable `(terms, query, draw) -> rank`.

`terms` are the candidates' `CostTerms` in order of rank: costs, overlaps and loads. `query` is the request
(its session, its overrides). `draw` is a uniform number in [0, 1) that belongs to this decision: use it where
chance decides, and equal seeds give equal runs. A policy is asked once for each decision and may keep state.
One that does not care what workers hold says so with an attribute `reads_cache = False`: all overlaps are 0
then, and nobody spends time on an index.
The cheapest worker, ties by rank, from a notebook:

    def first_cheapest(terms, query, draw):
        return min(terms, key=lambda candidate: candidate.cost).rank

The policies here do without the terms of each single candidate: `Candidates.of(terms)` has them by columns.

Every module here that has a `POLICY` is a policy with a name, and nothing else has to know of it.
"""

from importlib import import_module
from pkgutil import iter_modules

from sim.router.policies.policy import NamedPolicy, Policy, PolicySettings, Surroundings, reads_cache

__all__ = [
    "POLICIES",
    "NamedPolicy",
    "Policy",
    "PolicySettings",
    "Surroundings",
    "make_policy",
    "reads_cache",
]


def _found() -> dict[str, NamedPolicy]:
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    policies: list[NamedPolicy] = [module.POLICY for module in modules if hasattr(module, "POLICY")]
    return {each.name: each for each in sorted(policies, key=lambda each: each.name)}


POLICIES = _found()
"""Every policy that has a name, by name, sorted."""


def make_policy(config: PolicySettings, around: Surroundings | None = None) -> Policy:
    """Return a fresh policy of the kind that the settings name; without surroundings, for looking at."""
    return POLICIES[config.policy].make(config, around or Surroundings(0, 0))
