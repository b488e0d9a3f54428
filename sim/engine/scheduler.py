"""Which tokens an engine computes next: vLLM's scheduler. Rules in which releases differ: `rules/`.

A step has a budget of tokens. Running requests come first, in order of admission; a request that finds no
blocks preempts the one admitted last. Then waiting requests are admitted, each only if its whole known
sequence fits in the free blocks now; the first that does not fit blocks those behind it.
"""

from sim.engine.active import ActiveRequest, Status
from sim.engine.admission import Queues
from sim.engine.draft_steps import check_drafts, count_on_drafts
from sim.engine.plan import StepPlan
from sim.engine.priority import insert, least_urgent


class Scheduler(Queues):
    """Plans the steps of one engine."""

    def schedule(self) -> StepPlan:
        """Plan one step and take the blocks for it."""
        plan = StepPlan(self._steps)
        self._steps += 1
        self.cache.begin_step()
        if self._sizes.varies:
            self._sizes.begin_step(len(self.running) + len(self.waiting) + len(self.skipped))
        interval = self._interval
        if interval is not None:
            interval.begin(self.running)
        budget = self._schedule_running(plan, self._step_tokens)
        if not plan.preempted:
            if self.waiting or self.skipped:
                self._schedule_waiting(plan, budget)
            if interval is not None:
                interval.scanned(len(self.waiting) + len(self.skipped))
        if interval is not None:
            interval.end(plan.n_tokens)
        if self.offload is not None:
            plan.stores, plan.flushes = self.offload.plan(plan.scheduled, plan.preempted)
            plan.moves = self.offload.moves()
        if self.nixl is not None:
            plan.unneeded, self.nixl.unneeded = self.nixl.unneeded, []
        self._advance(plan)
        self.last_plan = plan
        return plan

    def repeat(self) -> StepPlan | None:
        """Plan what `schedule` would after a steady step if nothing has happened since; None: ask that.

        For engines whose decodes are steady across blocks, and only while nobody waits.
        """
        last, running = self.last_plan, self.running
        if (
            last is None
            or not last.steady
            or self.waiting
            or self.skipped
            or len(running) != len(last.decodes)
        ):
            return None
        longest = self._max_model_len - 1
        for request in running:
            if request.ends or request.computed >= longest:
                return None
            if not self._slots.grow(request, 1):
                return None  # what others have taken now they find covered then
        plan = last.again(self._steps)
        self._steps += 1
        if self._interval is not None:
            self._interval.advance(1)
        for request in running:
            request.computed += 1
            request.in_flight += 1
            request.placeholders += 1
        self.last_plan = plan
        return plan

    # -- running --------------------------------------------------------------------------------------------

    def _schedule_running(self, plan: StepPlan, budget: int) -> int:
        index, running, sizes = 0, self.running, self._sizes
        slots, interval = self._draft_slots, self._interval
        held = interval is not None and interval.held
        while index < len(running) and budget > slots:
            request = running[index]
            tokens = 0
            if not (held and request.prefilling):
                tokens = sizes.of_running(request, budget - slots)
            if tokens == 0:
                index += 1
                continue
            while not self._slots.grow(request, tokens):
                place = least_urgent(running) if self._by_priority else len(running) - 1
                victim = running[place]
                if self._preemption.spares(victim):
                    return budget
                del running[place]
                if place < index:
                    index -= 1
                    taken = plan.take_back(victim)
                    if taken is not None:
                        budget += taken + slots
                self._preempt(victim, plan)
                if victim is request:
                    break
            if request.status is not Status.RUNNING:
                if self._preemption.goes_on:
                    continue
                return budget
            plan.schedule(request, tokens)
            if interval is not None and request.prefilling:
                interval.carried = True
            if request.drafts:
                check_drafts(request, tokens, plan)
            budget -= tokens + slots
            index += 1
        return budget

    def _preempt(self, request: ActiveRequest, plan: StepPlan) -> None:
        if self.nixl is not None and self.nixl.producer:
            request.stale = request.placeholders
        self.free(request)
        request.status = Status.PREEMPTED
        request.computed = request.drafts = 0
        request.preemptions += 1
        if self._by_priority:
            insert(self.waiting, request)
        else:
            self.waiting.appendleft(request)
        plan.preempted.append(request)

    # -- the end of a schedule call -------------------------------------------------------------------------

    def _advance(self, plan: StepPlan) -> None:
        for request, tokens in plan.scheduled:
            request.computed += tokens
            request.in_flight += tokens
            request.prefilling = request.uncomputed > 0
            if not request.prefilling:
                request.placeholders += 1
                plan.emitting.append(request)
        if self._drafts:
            count_on_drafts(plan, self._drafts, asynchronous=self._async_scheduling)
