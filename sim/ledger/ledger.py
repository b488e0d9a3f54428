"""Prefill that was done twice, and why: every prompt token that is computed goes into the books once.

A token stands for the whole prefix up to it. The first time that any request computes it, it is a *first*
token; every further time it is *recomputed* and has exactly one cause. Per request and in total, with
preemption or without,

    computed = first + recomputed,      recomputed = the sum of the causes.

*Required* tokens are those that no prompt sent earlier contained, told by whole hash ids. Some of them an
earlier request's prompt and answer held all the same, where its answer returns: *returned* tokens. What that
request computed of them, all but the last token of its answer, is no first token of anybody who computes it
again. When every request is served, over a run,

    first = required - returned,

where nothing returns as many as the required ones; single requests differ only where one overtook another
that was sent earlier. A token is counted as returned when it is hit or computed, and only if that earlier
request had ended, or sent on in a prompt before, when this one was sent; or if it is hit.

The cause is settled when a request is admitted, because the caches change while it computes. The first that
applies, for each token that is not hit:

    preempted      the request itself had it, computed or hit, before it was preempted
    bound          in no block that a hit may end with: beyond the last full block that is known and does
                   not hold the last token
    checkpoint     hybrid models: its block is here, and so are all blocks before it, but no checkpoint of
                   the recurrent state would let the request start behind it
    in_flight      another request, not yet at its first token, is computing or loading the block
    evicted_here   the block was in this worker's GPU memory or a tier below
    generated      part of an answer: a worker that decoded it has it, this one never had, and no prefill has
                   computed it yet
    elsewhere      another worker has it
    gone           it was somewhere and is nowhere now
"""

from collections.abc import Iterator, Mapping, Sequence

from sim.kv.interval_map import IntervalMap
from sim.kv.runs import BlockRuns
from sim.ledger.account import CAUSES, Account
from sim.ledger.frontiers import Frontiers
from sim.ledger.holders import Holders
from sim.ledger.prefill import Prefill


class Ledger:
    """The books of a run. Calls come in the order of what happens; a request is named by its index.

    Of one scheduling step, `admitted` comes before the `kv` events that the step causes.
    """

    def __init__(
        self, block_tokens: int, hybrid: bool, workers: int, tiers: Sequence[str] = ("device", "host")
    ) -> None:
        self._block_tokens = block_tokens
        self._hybrid = hybrid
        self._holders = Holders(workers, tiers)
        self._prefills: dict[int, Prefill] = {}
        self._frontiers = Frontiers(block_tokens)
        self._in_flight = IntervalMap(0)
        """How many requests are computing or loading a block."""

    def sent(
        self,
        index: int,
        blocks: Sequence[int],
        prompt_tokens: int,
        required_tokens: int,
        *,
        held_tokens: int = 0,
        found_until: int = 0,
    ) -> None:
        """Open the account of a request, in order of sending.

        `blocks` are the prompt's full blocks, none if it was turned away;
        `required_tokens` as `sim.kv.prefix.PrefixTable` counts them. Of the prompt, `held_tokens` were an
        earlier request's prompt and answer, and up to `found_until` it may become so.
        """
        runs = BlockRuns.of(blocks)
        known_blocks = (prompt_tokens - required_tokens) // self._block_tokens
        account = Account(required_tokens, prompt_tokens - known_blocks * self._block_tokens)
        size = self._block_tokens
        prefill = Prefill(
            runs, prompt_tokens, size, account, held_tokens=held_tokens, found_until=found_until
        )
        self._prefills[index] = prefill
        self._holders.watch(self._frontiers.sent(runs, prefill.seen_tokens))

    def returns(self, sequence: BlockRuns, prompt_tokens: int) -> None:
        """Note the blocks of a prompt and its answer, which a later prompt is to hold."""
        self._holders.watch(sequence.between(prompt_tokens // self._block_tokens, len(sequence)))

    def answered(self, sequence: BlockRuns, prompt_tokens: int, computed_tokens: int) -> None:
        """Note that so many tokens of both have been computed, those of the answer by decode."""
        size = self._block_tokens
        self._frontiers.answered(sequence.between(prompt_tokens // size, computed_tokens // size))

    def kv(self, worker: int, stored: bool, attention: bool, tier: str, blocks: Sequence[int]) -> None:
        """Note what a cache did, when it did it; one event a physical copy.

        Checkpoints of recurrent state (`attention` False) are left out: that one is missing shows in a hit
        that ends before the attention blocks do. Left out are also blocks that no prompt has, those of
        answers that do not return.
        """
        if not attention:
            return
        if stored:
            self._holders.stored(worker, tier, blocks)
        else:
            self._holders.removed(worker, tier, blocks)

    def lost(self, worker: int) -> None:
        """Note that a worker's process ended, and with it all that it held."""
        self._holders.lost(worker)

    def admitted(
        self,
        index: int,
        worker: int,
        hit_tokens: int,
        known_tokens: int,
        resumed: bool,
        *,
        loaded_tokens: int = 0,
    ) -> None:
        """Note that a worker starts to compute, or to load, what `hit_tokens` leave of a prompt.

        `hit_tokens` include the `loaded_tokens`, the last of them, that come from tiers below;
        `known_tokens` are the prompt's and, if `resumed` after a preemption, the generated ones.
        """
        prefill = self._prefills[index]
        prompt_tokens = prefill.prompt_tokens
        prefill.position = min(hit_tokens, prompt_tokens)
        prefill.output_position = max(0, hit_tokens - prompt_tokens)
        prefill.known_tokens = known_tokens
        self._return(prefill, min(prefill.position, prefill.seen_tokens))
        if prefill.position > prefill.seen_tokens and prefill.found_until:
            self._find(prefill, min(prefill.position, prefill.found_until))
        prefill.plan = self._plan(prefill, worker, prefill.reached if resumed else 0)
        self._mark_in_flight(prefill, -(-(hit_tokens - loaded_tokens) // self._block_tokens))

    def computed(self, index: int, prompt_tokens: int, output_tokens: int = 0) -> None:
        """Charge one scheduled chunk: so many tokens of the prompt, then of the generated ones.

        Raises:
            ValueError: the chunk goes beyond the prompt.

        """
        prefill = self._prefills[index]
        if prompt_tokens:
            self._charge(prefill, prefill.position + prompt_tokens)
        if output_tokens:
            # The newest generated token has been sampled but never computed: that is decode.
            known = prefill.known_tokens - prefill.prompt_tokens - 1
            again = min(prefill.output_position + output_tokens, known) - prefill.output_position
            prefill.account.recomputed_output_tokens += max(0, again)
            prefill.output_position += output_tokens

    def first_token(self, index: int) -> None:
        """Note that a request is no longer in flight for others: all of its prompt is computed."""
        self._unmark_in_flight(self._prefills[index])

    def preempted(self, index: int) -> None:
        """Note that a request lost its blocks, and with them the prompt tokens it had hit or computed."""
        prefill = self._prefills[index]
        prefill.reached = max(prefill.reached, prefill.position)
        self._unmark_in_flight(prefill)

    def interrupted(self, index: int) -> None:
        """Note that no worker serves a request for now: its worker is no more."""
        self._unmark_in_flight(self._prefills[index])

    def ended(self, index: int) -> Account:
        """Close the books of a request, however it ended; return its account and forget it."""
        prefill = self._prefills.pop(index)
        self._unmark_in_flight(prefill)
        return prefill.account

    def account(self, index: int) -> Account:
        """Return what the prefill of a request that has not ended has come to so far."""
        return self._prefills[index].account

    def causes(self, index: int) -> Mapping[str, int]:
        """Return such a request's recomputed tokens by cause, every cause named."""
        return self.account(index).causes

    def _return(self, prefill: Prefill, end: int) -> None:
        """Count as returned what an earlier request's prompt and answer held up to `end`, each token once."""
        start, size, account = prefill.returned_until, self._block_tokens, prefill.account
        if end > start:
            account.returned_tokens += end - start
            account.returned_block_tokens += (end // size - start // size) * size
            prefill.returned_until = end

    def _find(self, prefill: Prefill, end: int) -> None:
        """Count tokens of a hit as returned that decode made after the prompt was sent: no prefill had."""
        account, size = prefill.account, self._block_tokens
        for fresh, stop in self._frontiers.advance(prefill.blocks, prefill.seen_tokens, end):
            account.returned_tokens += stop - fresh
            account.returned_block_tokens += (stop // size - fresh // size) * size

    def _mark_in_flight(self, prefill: Prefill, first_block: int) -> None:
        prefill.in_flight_blocks = prefill.blocks.between(first_block, len(prefill.blocks))
        for run in prefill.in_flight_blocks:
            self._in_flight.update(run.start, run.stop, lambda requests: requests + 1)

    def _unmark_in_flight(self, prefill: Prefill) -> None:
        for run in prefill.in_flight_blocks:
            self._in_flight.update(run.start, run.stop, lambda requests: requests - 1)
        prefill.in_flight_blocks = ()

    def _plan(self, prefill: Prefill, worker: int, reached: int) -> list[tuple[int, str]]:
        """Return the causes along the prompt, from the hit to its end.

        The tokens past the known ones are first tokens, unless another request computes them while this one
        is on its way.
        """
        size = self._block_tokens
        known = self._known_tokens(prefill)
        first, last = prefill.position // size, min(known, prefill.known_tokens - 1) // size
        plan = [(reached, "preempted")]
        end = first * size
        for n_blocks, cause in self._causes(worker, prefill.blocks.between(first, last)):
            end += n_blocks * size
            if end > reached:
                plan.append((end, cause))
        plan.append((known, "bound"))
        plan.append((prefill.prompt_tokens, "in_flight"))
        plan.reverse()
        return plan

    def _known_tokens(self, prefill: Prefill) -> int:
        """Leading tokens of the prompt that an earlier prompt contained or another request has computed."""
        size = self._block_tokens
        done = self._frontiers.done_until(prefill.blocks, prefill.seen_tokens // size)
        return max(prefill.seen_tokens, done * size)

    def _causes(self, worker: int, runs: Sequence[range]) -> Iterator[tuple[int, str]]:
        """Yield number of blocks and cause along known blocks behind a hit; each map splits the segments."""
        present = self._hybrid
        for run in runs:
            for start, stop, where in self._holders.where(worker, run.start, run.stop):
                present = present and where == "here"
                if present:
                    yield stop - start, "checkpoint"
                    continue
                for first, last, awaited in self._awaited(start, stop):
                    if awaited:
                        yield last - first, "in_flight"
                    elif where == "elsewhere" and self._frontiers.any_made:
                        for made, begin, end in self._frontiers.made(first, last):
                            yield end - begin, "generated" if made else where
                    else:
                        yield last - first, "evicted_here" if where == "here" else where

    def _awaited(self, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """Yield (start, stop, whether another request computes or loads them) along a run of blocks."""
        for done, first, last in self._frontiers.segments(start, stop):
            # A block that nobody has computed to its end is on its way, at least in a queue.
            if not done:
                yield first, last, True
                continue
            for begin, end, requests in self._in_flight.segments(first, last):
                yield begin, end, requests > 0

    def _charge(self, prefill: Prefill, end: int) -> None:
        """Enter the tokens up to `end`: where a block's frontier lies ahead, as recomputed, then as first."""
        if end > prefill.prompt_tokens:
            raise ValueError(f"computed {end} tokens of a prompt of {prefill.prompt_tokens}")
        account, size = prefill.account, self._block_tokens
        start = entered = prefill.position
        fresh_ranges = self._frontiers.advance(prefill.blocks, start, end)
        if end > prefill.tail_frontier:
            fresh_ranges.append((max(prefill.tail_frontier, start), end))
            prefill.tail_frontier = end
        for fresh, stop in fresh_ranges:
            self._enter(prefill, entered, fresh)
            account.first_tokens += stop - fresh
            account.first_block_tokens += (stop // size - fresh // size) * size
            entered = stop
        self._enter(prefill, entered, end)
        self._return(prefill, min(end, prefill.seen_tokens))
        if end == prefill.prompt_tokens:
            account.first_block_tokens += prefill.tail_tokens
            prefill.tail_tokens = 0
        account.computed_tokens += end - start
        prefill.position = end

    def _enter(self, prefill: Prefill, start: int, end: int) -> None:
        """Enter recomputed tokens under their causes."""
        causes, plan = prefill.account.cause_tokens, prefill.plan
        while start < end:
            limit, cause = plan[-1]
            if limit <= start:
                plan.pop()
                continue
            stop = min(end, limit)
            causes[CAUSES.index(cause)] += stop - start
            start = stop
