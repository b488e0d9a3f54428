"""What a prompt shares with the one before it, by counts alone."""

from collections import Counter
from collections.abc import Sequence

from sim.workload.findings import Findings
from sim.workload.formats.claude_code.responses import Response

BLOCK_TOKENS = 64
"""The provider may count a cached prefix short by a block."""
FIVE_MINUTES_US, HOUR_US = 300 * 10**6, 3_600 * 10**6
"""How long an entry of the provider's cache lives after its last use."""


def set_kept(responses: Sequence[Response], findings: Findings) -> None:
    """Give every response that goes on from another how much of that one's prompt its own begins with.

    What the provider read from its cache tells whether the prefix stood; where the entry had expired, or
    where another session goes on, what was sent may still begin with all of the prompt before.
    """
    broken: Counter[str] = Counter()
    for response in responses:
        before = response.predecessor
        if before is None:
            continue
        shrank = response.prompt_tokens < before.prompt_tokens
        all_of_it = before.prompt_tokens
        if response.why == "compaction":
            response.kept_tokens = min(all_of_it, response.prompt_tokens)
            continue
        cause = _why(response, before, shrank=shrank)
        if cause is not None:
            broken[cause] += 1
            response.why, all_of_it = "broken", _read(response)
        response.kept_tokens = min(all_of_it, before.prompt_tokens, response.prompt_tokens)
    whys = Counter(response.why for response in responses if response.usage is not None)
    findings.say("prompts whose prefix stands although the provider's entry had expired", whys["expired"])
    findings.say(
        "prompts that go on from one of another session, which the provider did not find, taken to begin "
        "with all of it",
        whys["other stream"],
    )
    findings.say("sub-agents that begin with the whole prompt of who started them", whys["fork"])
    for cause, n in sorted(broken.items()):
        findings.say(f"prefixes broken: {cause}", n)


def _why(response: Response, before: Response, *, shrank: bool) -> str | None:
    """Note how it is known that a prefix stands; return why it does not if it does not."""
    if response.miss is not None:
        return f"{response.miss}, as the provider says"
    if shrank:
        return "the prompt is shorter than the one before"
    if response.why == "fork":
        return None
    if _read(response) >= before.cached_after - BLOCK_TOKENS:
        response.why = "intact"
    elif response.stream is not before.stream:
        response.why = "other stream"
    elif response.send_us - before.end_us > _lives_us(before):
        response.why = "expired"
    elif response.model != before.model:
        return "another model"
    else:
        return "no cause recorded"
    return None


def answer_tokens(response: Response) -> int:
    """Return how many tokens behind what is kept are the answer before: all of it, or none.

    None where less was added than that answer has, as thinking that is left out changes what follows.
    """
    before = response.predecessor
    if before is None or response.why == "broken" or response.kept_tokens < before.prompt_tokens:
        return 0
    grew = response.prompt_tokens - before.prompt_tokens
    return before.output_tokens if before.output_tokens <= grew else 0


def _read(response: Response) -> int:
    return response.usage.read if response.usage is not None else 0


def _lives_us(response: Response) -> int:
    """Return how long the entry behind a response lives: as the one that wrote to it last said."""
    seen = set()
    current: Response | None = response
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if current.usage is not None and current.usage.created:
            return HOUR_US if current.usage.one_hour else FIVE_MINUTES_US
        current = current.predecessor
    return FIVE_MINUTES_US
