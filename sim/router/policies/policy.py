"""What a policy is, and what it may look at besides the terms of the candidates."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from sim.router.candidates import Candidates
from sim.router.cost import CostTerms
from sim.router.policies.options import (
    ConsistentHashOptions,
    LlmDOptions,
    SglangOptions,
    TwoTierOptions,
    VllmDpOptions,
)
from sim.router.query import Query
from sim.router.report import WorkerReport


class Policy(Protocol):
    """Chooses a rank among the candidates."""

    def __call__(self, terms: Sequence[CostTerms], query: Query, draw: float, /) -> int:
        """Return the rank of one of `terms`."""


def reads_cache(policy: Policy) -> bool:
    """Whether a policy wants to know what workers hold; it does unless it says otherwise."""
    return bool(getattr(policy, "reads_cache", True))


def cheapest(terms: Sequence[CostTerms]) -> list[int]:
    """Return the ranks that share the least cost."""
    return Candidates.of(terms).cheapest()


def one_of(ranks: Sequence[int], draw: float) -> int:
    """Return one of the ranks, each with equal chance."""
    return ranks[int(draw * len(ranks))]


class PolicySettings(Protocol):
    """What a router's settings (`sim.router.config`) tell its policy."""

    @property
    def policy(self) -> str:
        """Its name."""

    @property
    def temperature(self) -> float:
        """0: the cheapest worker. Above: a draw by softmax of the costs."""

    @property
    def sglang(self) -> SglangOptions:
        """Of SGLang's rule; these and the next ones as in `options.py`."""

    @property
    def two_tier(self) -> TwoTierOptions:
        """Of Dynamo's two-tier rule."""

    @property
    def vllm_dp(self) -> VllmDpOptions:
        """Of vLLM's rule."""

    @property
    def consistent_hash(self) -> ConsistentHashOptions:
        """Of consistent hashing."""

    @property
    def llm_d(self) -> LlmDOptions:
        """Of llm-d's rule."""


class Surroundings(NamedTuple):
    """What there is around a router for a policy to look at: of ranks, at the time of a decision."""

    ranks: int
    block_tokens: int
    report: Callable[[int], WorkerReport] | None = None
    """By rank; None: workers say nothing of themselves here, or the policy does not read it
    (`NamedPolicy.reads_reports`)."""
    cached_tokens: Callable[[Query], Sequence[int]] | None = None
    """Tokens of a prompt that each rank, all of them in order, would truly hit if the request stood in its
    queue now, whatever any index believes (`sim.cluster.true_caches` says what counts); None: nothing is
    computed of prompts here, or there are no workers."""
    said_s: Callable[[int], float] | None = None
    """By rank, when what it says in `report` was so; None where that is."""


Maker = Callable[[PolicySettings, Surroundings], Policy]


class NamedPolicy(NamedTuple):
    """A policy that settings may name: every module of this package that has such a `POLICY` is one."""

    name: str
    make: Maker
    """Makes one for each router."""
    source: str
    """Whose rule it is: software, release, and where it is written down."""
    reads_reports: bool = False
    """Whether it looks at what workers say of themselves: `Surroundings.report` is there only then."""
    report_interval_s: float = 0.0
    """How often its source looks at them, where `router.report_interval_s` says nothing; 0: at every step."""
