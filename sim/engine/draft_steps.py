"""Drafts in the planning of a step: which are checked, and what is counted on (vLLM 0.28.0)."""

from sim.engine.active import ActiveRequest
from sim.engine.plan import StepPlan


def check_drafts(request: ActiveRequest, tokens: int, plan: StepPlan) -> None:
    """Of the tokens scheduled, those beyond the known ones are drafts; the rest of the drafts is lost."""
    drafts = min(request.drafts, tokens - request.uncomputed)
    if drafts > 0:
        plan.draft(request, drafts)
    request.drafts = 0


def count_on_drafts(plan: StepPlan, drafts: int, *, asynchronous: bool) -> None:
    """Each draft under check may become a token; asynchronously, the next ones are counted on already."""
    for request in plan.emitting:
        request.placeholders += plan.drafts_of(request)
        if asynchronous:
            request.drafts = drafts


def only_decodes(plan: StepPlan) -> bool:
    """Whether requests that run were scheduled, and none of them computes its prompt."""
    return bool(plan.scheduled) and not any(request.prefilling for request, _ in plan.scheduled)
