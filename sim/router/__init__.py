"""The router core: which worker gets a request, and what it believes about the workers. Pure logic."""

from sim.kv.events import Tier
from sim.router.config import RouterConfig
from sim.router.cost import CostTerms
from sim.router.eligible import NoEligibleWorkerError
from sim.router.load import Booking
from sim.router.overrides import Overrides
from sim.router.policies import Policy
from sim.router.query import Query
from sim.router.router import Decision, PrefillEstimate, Router
from sim.router.rules import WorkerType

__all__ = [
    "Booking",
    "CostTerms",
    "Decision",
    "NoEligibleWorkerError",
    "Overrides",
    "Policy",
    "PrefillEstimate",
    "Query",
    "Router",
    "RouterConfig",
    "Tier",
    "WorkerType",
]
