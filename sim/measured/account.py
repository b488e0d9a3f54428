"""What the prompts of a measured run required, and where else their blocks had been: from trace and routing.

Only completed requests count: what a failed one had computed by then, no file says.
"""

from dataclasses import dataclass

from sim.kv.prefix import PrefixTable
from sim.measured.request import MeasuredRequest
from sim.measured.run import MeasuredRun


@dataclass(slots=True)
class MeasuredAccount:
    """Prompt tokens of the completed requests."""

    required_tokens: int = 0
    """Those that no prompt sent earlier contained."""
    required_block_tokens: int = 0
    """The same counted in whole blocks: prompts without the full blocks that an earlier one contained."""
    elsewhere_tokens: int | None = 0
    """In full blocks that an earlier prompt contained, but none that the same worker computed. None where the
    workers are not known."""


def account(run: MeasuredRun) -> MeasuredAccount | None:
    """Return the account of a run, None without a trace that its requests could be joined to."""
    sent = sorted(
        (request for request in run.requests if request.completed and request.trace), key=_when_sent
    )
    if run.trace is None or not sent:
        return None
    block_tokens = run.block_tokens or run.trace.chunk_tokens
    table = PrefixTable(run.trace.chunk_tokens, block_tokens)
    found = MeasuredAccount()
    seen: set[int] = set()
    seen_on: dict[str, set[int]] = {}
    for request in sent:
        if request.trace is None:
            continue
        prompt = table.add(request.trace.chunks, request.trace.prompt_tokens)
        known = seen.intersection(prompt.blocks)
        found.required_tokens += prompt.required_tokens
        found.required_block_tokens += request.trace.prompt_tokens - len(known) * block_tokens
        worker = run.worker(request.prefill_worker_id)
        if worker is None:
            found.elsewhere_tokens = None
        elif found.elsewhere_tokens is not None:
            here = seen_on.setdefault(worker.name, set())
            found.elsewhere_tokens += len(known - here) * block_tokens
            here.update(prompt.blocks)
        seen.update(prompt.blocks)
    return found


def _when_sent(request: MeasuredRequest) -> tuple[float, int]:
    return request.send_s or 0.0, request.row
