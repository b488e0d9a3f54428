"""What calls share, where a log has nothing but their counts: each goes on from the one before in its stream.

A prompt that is at least as long as the one before is taken to begin with all of it; of one that shrank, only
what the provider's cache gave is known to be left. Where the log says what was written to that cache, as
Anthropic's counts do, what the next request should have read tells more: less than that within five minutes
is a prefix that broke.
"""

from collections.abc import Mapping, Sequence

from sim.workload.calls import Call
from sim.workload.findings import Findings

BLOCK_TOKENS = 64
"""A provider may count a cached prefix short by a block."""
LIFE_S = 300.0
"""How long an entry of Anthropic's cache lives after its last use."""


def link(
    calls: Sequence[Call],
    findings: Findings,
    created: Mapping[int, int] | None = None,
    groups: Mapping[int, str] | None = None,
) -> None:
    """Say of calls, which are in order, which one each goes on from and what it shares with it.

    Those that have a parent go on from that; `created` are the tokens that a call wrote to the provider's
    cache, by its position; `groups` what first calls begin alike in, the model if not given.
    """
    latest: dict[str, int] = {}
    first: dict[str, int] = {}
    numbers: dict[str, int] = {}
    n_shrank = n_broken = 0
    for number, call in enumerate(calls):
        call.parent = latest.get(call.stream) if call.parent is None else call.parent
        latest[call.stream] = number
        if call.parent is None:
            key = (groups or {}).get(number) or call.model or ""
            root = calls[first.setdefault(key, number)]
            call.group = str(numbers.setdefault(key, len(numbers) + 1))
            shared = min(call.cached_tokens or 0, call.prompt_tokens, root.prompt_tokens)
            call.kept_tokens = 0 if root is call else shared
            continue
        before = calls[call.parent]
        shrank = call.prompt_tokens < before.prompt_tokens
        broke = not shrank and _broke(call, before, (created or {}).get(call.parent))
        n_shrank += shrank
        n_broken += broke
        whole = before.prompt_tokens
        kept = (call.cached_tokens or 0) if shrank or broke else whole
        call.kept_tokens = min(kept, whole, call.prompt_tokens)
        grew = call.prompt_tokens - whole
        if call.kept_tokens == whole and before.output_tokens <= grew and not broke:
            call.answer_tokens = before.output_tokens
    findings.say("prefixes broken: the prompt is shorter than the one before", n_shrank)
    findings.say("prefixes broken: no cause recorded", n_broken)


def _broke(call: Call, before: Call, created: int | None) -> bool:
    """Whether the provider found less than it had written, although that had not expired."""
    if created is None or call.cached_tokens is None or before.cached_tokens is None:
        return False
    if call.cached_tokens >= before.cached_tokens + created - BLOCK_TOKENS:
        return False
    return before.end_s is None or call.send_s is None or call.send_s - before.end_s <= LIFE_S
