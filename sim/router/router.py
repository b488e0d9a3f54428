"""The router: scores the ranks for a request, chooses one, and keeps the books (Dynamo 1.5.0)."""

from collections.abc import Callable, Sequence, Set
from typing import NamedTuple

from sim.base.errors import InputError
from sim.kv.events import Tier
from sim.kv.runs import BlockRuns
from sim.router.busy import ReportedPrefill
from sim.router.caches import Caches, caches_of
from sim.router.candidates import Candidates
from sim.router.columns import Column, at
from sim.router.config import RouterConfig
from sim.router.cost import CostTerms, WorkerState, cost_columns
from sim.router.eligible import Eligible
from sim.router.expiry import Expiry, SecondChance
from sim.router.load import Booking, Loads
from sim.router.lru_guesses import LruGuesses
from sim.router.policies import Policy, Surroundings, make_policy, reads_cache
from sim.router.query import Query
from sim.router.ranks import members
from sim.router.resolved import Resolved
from sim.router.rules import RULES, WorkerType

PrefillEstimate = Callable[[int, int], float]
"""Returns how many seconds it should take to compute so many tokens behind a cached prefix of so many."""


class Decision(NamedTuple):
    """A choice and what it was made from."""

    terms: Candidates
    """Every candidate, in order of rank."""
    chosen: CostTerms
    ties: int
    """How many candidates share the least cost."""


class Router:
    """One router of a pool of ranks. Pure: it is told the time, and every call first brings it up to then.

    Times must not decrease from call to call.
    """

    def __init__(
        self,
        config: RouterConfig,
        block_size: int,
        ranks: int,
        taints: Sequence[Set[str]] | None = None,
        policy: Policy | None = None,
        *,
        worker_type: WorkerType = "decode",
        expiry: Expiry | None = None,
        around: Surroundings | None = None,
        service: bool = False,
        total_kv_blocks: Sequence[int] | None = None,
        prefill_s: PrefillEstimate | None = None,
    ) -> None:
        """Build a router.

        Args:
            config: the settings.
            block_size: tokens a block; the engines' own, or nothing ever matches.
            ranks: how many (worker, data-parallel rank) pairs there are.
            taints: a set of taints for each rank; None: no rank has any.
            policy: used in place of the one that the settings name.
            worker_type: what the ranks are to Dynamo's frontend; decides which form of the cost holds.
            expiry: when bookings are let go whose request has not ended; None: as in Dynamo's frontend.
            around: what a policy that the settings name may look at besides; None: no workers are there.
            service: it is Dynamo's SelectionService: it has a worker type of its own, keeps an index without
                credit, and may not guess.
            total_kv_blocks: of each rank, for an index that drops the least recently used; None: not known.
            prefill_s: what `prefill_load_model` "aic" asks; None: nobody can say, and prompts count whole.
        """
        self._config = config
        self._block_size = block_size
        self._eligible = Eligible(ranks, taints)
        self._policy = policy or make_policy(config, around or Surroundings(ranks, block_size))
        self._rules = RULES[config.version]
        decodes = (self._rules.service_worker_type if service else worker_type) == "decode"
        self._caches = Caches()
        if reads_cache(self._policy) and (config.overlap_score_credit > 0 or service):
            self._caches = caches_of(config, ranks, block_size, total_kv_blocks)
        if service and not self._rules.service_guesses:
            self._caches.guessed = None
        self._resolved = Resolved(
            config,
            self._rules,
            decodes=decodes,
            service=service,
            counts_twice=self._caches.told is not None and self._caches.guessed is not None,
        )
        self._expiry = expiry or SecondChance(config.active_request_expiry_secs)
        self._reported = ReportedPrefill(ranks, config.report_delay_s) if config.limits_prefill else None
        self._prefill_s = prefill_s if config.prefill_load_model == "aic" else None
        self.loads = Loads(ranks, fades=config.track_output_blocks, prefill_fades=self._prefill_s is not None)

    @property
    def hears_events(self) -> bool:
        """Whether KV events are of use: not without credit, nor with a policy that reads no cache."""
        return self._caches.told is not None

    @property
    def follows_answers(self) -> bool:
        """Whether it wants to know what requests generate, and with which ids, for its guesses."""
        return isinstance(self._caches.guessed, LruGuesses)

    # Routing

    def terms(self, query: Query, now_s: float) -> Candidates:
        """Return the cost terms of every rank that may serve the request, in order of rank.

        Raises:
            NoEligibleWorkerError: no rank may.
            InputError: the prompt was cut into blocks of another size than the router's.
        """
        self._expiry.look(self.loads, now_s)
        self._check_blocks(query)
        _, weights, reuse = self._resolved.of(query.overrides)
        ranks, among = self._eligible.of(query)
        blocks = BlockRuns.of(query.blocks)
        prefill_tokens, active_blocks, requests = self.loads.columns()
        if self.loads.prefill_fades:
            prefill_tokens = self.loads.prefill_left(now_s)
        new_blocks = self._new_blocks(blocks, among, reuse)
        overlap = query.overlap
        if overlap is None:
            overlap = self._caches.overlap(blocks, among, now_s)
        taint_factors = self._eligible.factors(query)
        known = WorkerState(
            prefill_tokens, active_blocks, requests, new_blocks, *overlap, taint_factors, query.shared
        )
        if len(ranks) < len(self._eligible.ranks):
            places = members(among)
            known = WorkerState._make(at(column, places) for column in known)
        return Candidates(ranks, cost_columns(weights, query.isl_tokens, self._block_size, known))

    def choose(self, query: Query, now_s: float, draw: float) -> Decision:
        """Let the policy choose; nothing is booked. `draw` is a uniform number in [0, 1) for this decision.

        Raises as `terms` does, and ValueError if the policy returns a rank that is not a candidate.
        """
        terms = self.terms(query, now_s)
        counting = self._resolved.of(query.overrides).overrides
        if query.overrides is not counting:
            query = query._replace(overrides=counting)
        rank = self._policy(terms, query, draw)
        if rank not in terms.ranks:
            raise ValueError(
                f"the policy chose rank {rank!r} for request {query.request}, not one of its candidates"
            )
        return Decision(terms, terms[terms.ranks.index(rank)], len(terms.cheapest()))

    def book(self, query: Query, chosen: CostTerms, now_s: float) -> Booking:
        """Put the request's load on the chosen rank, from the terms of the decision."""
        self._expiry.look(self.loads, now_s)
        self._expiry.booking(self.loads, chosen.rank, now_s)
        _, weights, reuse = self._resolved.of(query.overrides)
        uncached_tokens = max(query.isl_tokens - chosen.cached_tokens, 0)
        prefill_tokens = uncached_tokens if weights.track_prefill_tokens else 0
        blocks = query.blocks if self._config.track_active_blocks else ()
        booking = Booking(
            request=query.request,
            rank=chosen.rank,
            booked_s=now_s,
            isl_tokens=query.isl_tokens,
            expected_osl=query.expected_osl,
            credit_tokens=chosen.cached_tokens,
            prefill_tokens=prefill_tokens,
            blocks=blocks if reuse else (),
            own_blocks=0 if reuse else len(blocks),
            total_blocks=-(-query.isl_tokens // self._block_size),
        )
        if self._prefill_s is not None and prefill_tokens:
            booking.prefill_s = self._prefill_s(prefill_tokens, query.isl_tokens - prefill_tokens)
        self.loads.book(booking)
        self._report(now_s, booking.rank)
        if self._caches.guessed is not None:
            self._caches.guessed.book(booking, query, now_s)
        return booking

    def first_token(self, booking: Booking, now_s: float) -> None:
        """The prompt is computed: its tokens no longer count."""
        self.progress(booking, now_s, now_s)
        self.loads.end_prefill(booking, now_s)
        self._report(now_s, booking.rank)

    def output_tokens(self, booking: Booking, tokens: int, now_s: float) -> None:
        """The request has generated `tokens` tokens so far: a block is added where they reach into a new one.

        One block, also if several were entered since the last call.
        """
        self.progress(booking, now_s, now_s)
        if self._caches.guessed is not None:
            self._caches.guessed.output_tokens(booking, tokens)
        total_blocks = -(-(booking.isl_tokens + tokens) // self._block_size)
        tracked = self._config.track_active_blocks and self._config.track_output_blocks
        if not tracked or total_blocks <= booking.total_blocks:
            return
        booking.total_blocks = total_blocks
        expected = booking.expected_osl
        fraction = None if expected is None else max(0.0, 1.0 - tokens / max(expected, 1))
        self.loads.add_output_block(booking, fraction)

    def progress(self, booking: Booking, heard_s: float, now_s: float) -> None:
        """A chunk of the answer was heard of at `heard_s`; scans up to `now_s` did not know of it."""
        self._expiry.look(self.loads, now_s)
        booking.progress_s = max(booking.progress_s, heard_s)

    def free(self, booking: Booking, now_s: float) -> None:
        """The request ended, however it ended: nothing of it counts any more."""
        self._expiry.look(self.loads, now_s)
        self.loads.free(booking, now_s)
        self._report(now_s, booking.rank)
        if self._caches.guessed is not None:
            self._caches.guessed.free(booking)

    def forget_bookings(self) -> None:
        """The router starts anew: it knows of no request that it has routed."""
        self.loads.clear()

    def reported_prefill(self, now_s: float) -> Sequence[int] | None:
        """Return the booked prompt tokens by rank, as old as load reports are; None: they have no limit.

        What a scan freed is reported when somebody looks next.
        """
        if self._reported is None:
            return None
        self._expiry.look(self.loads, now_s)
        self._report(now_s)
        return self._reported.known(now_s)

    def _report(self, now_s: float, rank: int | None = None) -> None:
        """Report what has changed; of `rank`, where something has happened, also that it faded."""
        if self._reported is not None:
            left: list[int] = self.loads.prefill_left(now_s).tolist()
            self._reported.note(self.loads.prefill_tokens, now_s, left, rank)

    # KV events

    def stored(self, rank: int, parent: int | None, blocks: Sequence[int], tier: Tier) -> bool:
        """The rank now has these blocks, which follow `parent`, in a tier; return whether they count."""
        told = self._caches.told
        return told is not None and told.stored(rank, parent, blocks, tier)

    def removed(self, rank: int, blocks: Sequence[int], tier: Tier) -> None:
        """The rank no longer holds these blocks in a tier."""
        if self._caches.told is not None:
            self._caches.told.removed(rank, blocks, tier)

    def cleared(self, rank: int) -> None:
        """The rank holds nothing any more."""
        self._caches.cleared(rank)

    def held(self, tier: Tier) -> list[tuple[int, int, int]]:
        """Return (start, stop, set of ranks) of the blocks that events put into a tier, in no order."""
        return self._caches.told.held(tier) if self._caches.told is not None else []

    # What the calls have in common

    def _check_blocks(self, query: Query) -> None:
        full_blocks = query.isl_tokens // self._block_size
        if query.isl_tokens < 1 or len(query.blocks) != full_blocks:
            raise InputError(
                f"request {query.request}: {len(query.blocks)} full blocks for {query.isl_tokens} prompt "
                f"tokens; the router's block size of {self._block_size} tokens makes {full_blocks} "
                "(router and engine must agree on the block size, and a prompt has at least 1 token)"
            )

    def _new_blocks(self, blocks: BlockRuns, among: int, reuse: bool) -> Column:
        """Return, a rank, the prompt's full blocks that no running request has there already."""
        if not self._config.track_active_blocks:
            return 0
        return len(blocks) - (self.loads.shared_depth(blocks, among) if reuse else 0)
