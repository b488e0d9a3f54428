"""What a provider's cache finds of a prompt, what it says of that, and what the prompt really shares."""

from tests.workload.formats.claude_code.log import Log
from tests.workload.formats.claude_code.world import MINUTE, Row, Sent, usage

LEAST = 2000
"""Tokens between what is read of a prefix that is broken and of one that stands, at least."""
REASONS = ("messages_changed", "system_changed", "tools_changed")


def count(agent: Log, sent: Sent, at: int, last: bool) -> tuple[Row, str | None]:
    """Give a request its lengths; return its counts as rows show them, and why the prefix was not found."""
    world, random = agent.world, agent.world.random
    known, diagnosis = agent.known or agent.inherits, None
    new = random.randint(50, 3000)
    if known is None:
        sent.group = (agent.kind, agent.model, agent.version)
        sent.total = agent.system + new
        read = sent.kept = random.choice([0, agent.system])
    else:
        sent.parent, sent.kept = known, known.total
        sent.total = known.total + known.output + new
        is_changed = known.output > 60 and world.chance("stripped", 0.3)
        if is_changed:
            sent.total = known.total + random.randint(known.output // 2, known.output - 1)
        read = _found(agent, sent, known, at)
        if world.chance("diagnostics", 0.7) and read < known.entry - 200:
            diagnosis = random.choice(REASONS)
            sent.kept = read
        sent.answer = known.output if sent.kept == known.total and not is_changed else 0
    sent.read = read
    behind = random.randint(1, 5)
    if world.chance("behind", 0.3):
        behind = random.randint(1, max(1, min(sent.total - read, sent.total - 2100)))
    sent.entry = sent.total - behind
    if world.chance("hour", 0.5):
        sent.ttl = 60 * MINUTE
    whole, agent.whole = agent.whole, False
    goes_on = (
        known is not None and agent.kind == "main" and sent.kept == known.total and not last and not whole
    )
    if goes_on and sent.total > 4000 and world.chance("server", 0.4):
        return _sum(agent, sent, read), None
    return usage(behind, sent.entry - read, read, sent.output, sent.ttl > 5 * MINUTE), diagnosis


def _found(agent: Log, sent: Sent, known: Sent, at: int) -> int:
    """Return what the cache gives of a prompt that goes on from another, which may not stand as a whole."""
    world, random = agent.world, agent.world.random
    little = agent.system if known.entry - agent.system > LEAST else 0
    if agent.whole or known is agent.inherits:
        return known.entry
    if known.stream != agent.name:
        return random.choice([0, little, known.entry])
    if at - known.end > known.ttl:
        return random.choice([0, little])
    if known.model != agent.model or world.chance("broken", 0.2):
        sent.kept = random.choice([0, little])
        return sent.kept
    if world.chance("cleared", 0.2) and known.total > agent.system + 1500:
        sent.kept = little
        sent.total = known.total - random.randint(1, known.total - agent.system - 1000)
        return little
    return known.entry


def _sum(agent: Log, sent: Sent, read: int) -> Row:
    """Return the counts of a request in which tools of the server ran: those of several prompts, added."""
    loops = agent.world.random.randint(4, 6)
    behind = agent.world.random.randint(1, 5)
    made = sent.total - behind - read
    shown = usage(loops * behind, made, loops * read + (loops - 1) * made, sent.output, sent.ttl > 5 * MINUTE)
    agent.whole = True
    sent.total = sent.entry = read + made
    sent.answer, sent.read = min(sent.answer, sent.total - sent.kept), None
    return shown | {"server_tool_use": {"web_search_requests": loops - 1}}
