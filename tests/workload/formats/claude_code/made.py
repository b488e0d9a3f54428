"""Worlds made of a few sessions, with copies of some, by a seed and what is to happen in them."""

from copy import deepcopy

from tests.workload.formats.claude_code.sessions import Stream
from tests.workload.formats.claude_code.world import MINUTE, SECRET, World, stamp, usage


def fork(world: World, old: Stream, path: str, session: str, told: str) -> Stream | None:
    """Go on in another file from where a turn of a session ended; `told` is what it says of that."""
    rows = world.rows(old.path)
    ends = {row.get("uuid"): n for n, row in enumerate(rows)}
    here = [each for each in old.turn_ends if each.last_row in ends]
    if not here:
        return None
    start = world.random.choice(here)
    end = ends[start.last_row]
    now = max(at for each in world.files.values() for at, _, _ in each) + world.random.randint(
        1000, 90 * MINUTE
    )
    if told != "bare":
        for row in rows[: end + 1]:
            copy = deepcopy(row)
            if told != "kept":
                copy["sessionId"] = session
            if told == "forked_from":
                copy["forkedFrom"] = {"sessionId": old.session, "messageUuid": row.get("uuid")}
            world.write(path, now, copy)
    stream = Stream(world, path, session, now + 10)
    stream.known, stream.tip, stream.model, stream.relay = start, start.last_row, old.model, False
    stream.turn_ends = list(old.turn_ends[: old.turn_ends.index(start) + 1])
    return stream


COPIES = ("rewritten", "kept", "forked_from", "bare")
FEATURES = (
    "tools",
    "parallel",
    "partial",
    "duplicates",
    "meta",
    "commands",
    "synthetic",
    "api_errors",
    "progress",
    "attachments",
    "backwards",
    "expired",
    "hour",
    "rewind",
    "two_models",
    "broken",
    "cleared",
    "stripped",
    "diagnostics",
    "behind",
    "server",
    "no_request_id",
    "late_zero",
    "agents",
    "background",
    "forks_of_agents",
    "inline",
    "beside",
    "workflows",
    "compaction",
    "relay",
    "cut",
    "copies",
    "skipped",
    "no_trigger",
)


def make(seed: int, features: set[str]) -> World:
    """Return a world of a few sessions that has these features."""
    world = World(seed, features)
    now = 0
    streams: list[Stream] = []
    for _ in range(world.random.randint(1, 3)):
        session = f"{world.random.randrange(16**6):06x}-{world.id('S')}"
        stream = Stream(world, f"projects/-p{world.random.randint(0, 1)}/{session}.jsonl", session, now)
        if world.chance("summary", 1.0):
            world.write(stream.path, now, {"type": "summary", "summary": SECRET, "leafUuid": "x"})
        for _ in range(world.random.randint(1, 5)):
            stream.turn()
        streams.append(stream)
        now = world.random.randint(0, stream.now)
    if "copies" in features:
        for _ in range(world.random.randint(1, 3)):
            old = world.random.choice(streams)
            session = f"{world.random.randrange(16**6):06x}-{world.id('S')}"
            copy = fork(
                world,
                old,
                f"{old.path.rpartition('/')[0]}/{session}.jsonl",
                session,
                world.random.choice(COPIES),
            )
            if copy:
                for _ in range(world.random.randint(1, 3)):
                    copy.turn()
                streams.append(copy)
    if "skipped" in features:
        row = {
            "type": "assistant",
            "uuid": "h1",
            "sessionId": "h",
            "timestamp": stamp(5),
            "message": {"id": "hist", "model": "claude-a", "usage": usage(1, 2, 3, 4)},
        }
        world.write("history.jsonl", 0, row)
        world.write(f"{streams[0].path[:-6]}/subagents/workflows/w/journal.jsonl", 0, row)
    return world
