"""Prompts of requests in which tools of the server ran: their counts are sums over several prompts."""

from collections.abc import Sequence

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.responses import Response

WINDOW, LONG_WINDOW = 200_000, 1_000_000
"""Tokens of context that models have; the long one where a plain request of the model used more."""
FACTOR = 3
"""A prompt that grows by more than so many times what the one before grew by is taken for a sum."""


def mend_sums(responses: Sequence[Response], findings: Findings) -> None:
    """Take what the provider's cache gave the next request in place of a sum."""
    following: dict[int, Response] = {}
    longest: dict[str | None, int] = {}
    for response in sorted(responses, key=lambda each: each.send_us):
        if response.predecessor is not None:
            following.setdefault(id(response.predecessor), response)
        if response.usage is not None and not response.usage.several_calls:
            longest[response.model] = max(longest.get(response.model, 0), response.prompt_tokens)
    n_mended = n_left = 0
    for response in sorted(responses, key=lambda each: each.send_us):
        if response.usage is None or not response.usage.several_calls:
            continue
        following_one = following.get(id(response))
        window = WINDOW if longest.get(response.model, 0) <= WINDOW else LONG_WINDOW
        if not _is_sum(response, following_one, window):
            continue
        found = (
            following_one.usage.read if following_one is not None and following_one.usage is not None else 0
        )
        before = response.predecessor.prompt_tokens if response.predecessor is not None else 1
        if before <= found < response.prompt_tokens:
            response.prompt_tokens = response.cached_after = found
            n_mended += 1
        else:
            n_left += 1
    findings.fix(
        "prompts that were sums over calls of server tools, taken as what the next request found cached",
        n_mended,
    )
    findings.fix("prompts that seem to be sums over calls of server tools, left as they are", n_left)


def _is_sum(response: Response, following: Response | None, window: int) -> bool:
    if response.prompt_tokens > window:
        return True
    before = response.predecessor
    if before is None:
        return following is not None and following.prompt_tokens < response.prompt_tokens
    earlier = before.predecessor
    grew = max(before.prompt_tokens - earlier.prompt_tokens, 0) if earlier is not None else 0
    return response.prompt_tokens > before.prompt_tokens + before.output_tokens + FACTOR * grew
