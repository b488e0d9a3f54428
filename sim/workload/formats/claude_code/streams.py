"""Streams: the lines of a session or of a sub-agent, in the order of the file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sim.workload.formats.claude_code.entries import Entry
from sim.workload.formats.claude_code.files import Transcript

NEVER = -1


@dataclass(slots=True, eq=False)
class Stream:
    """What one agent did, from its first line on."""

    name: str
    agent: str | None
    """The sub-agent; None for a session and for a sub-agent inside a session's file."""
    inline: bool
    """Whether it is a sub-agent inside a session's file, as the oldest versions write them."""
    transcript: Transcript
    """Where it begins."""
    entries: list[Entry] = field(default_factory=list)
    """Every line once."""
    rank: int = 0
    """Of streams with the same lines, the one with the least had them first."""

    def is_copy(self, entry: Entry) -> bool:
        """Whether a line says that it was written in another session first."""
        session = None if self.agent is not None else self.transcript.path.name.partition(".jsonl")[0]
        return entry.forked or (None not in (session, entry.session) and entry.session != session)

    def times_us(self) -> list[int]:
        """Return when its lines with ids were written, in their order."""
        return [
            NEVER if each.time_us is None else each.time_us for each in self.entries if each.uuid is not None
        ]


def streams_of(transcripts: Sequence[Transcript]) -> list[Stream]:
    """Return the streams of all files, sorted by name."""
    found: dict[tuple[str, str], Stream] = {}
    for transcript in sorted(transcripts, key=_began):
        roots = _inline_roots(transcript)
        for entry in transcript.entries:
            agent = entry.agent or transcript.agent
            root = roots.get(id(entry))
            if agent is not None:
                key = ("agent", agent)
            else:
                key = ("file", transcript.name) if root is None else (transcript.name, str(root))
            stream = found.get(key)
            if stream is None:
                name = _name(transcript, agent, root)
                stream = found[key] = Stream(name, agent, agent is None and root is not None, transcript)
            stream.entries.append(entry)
    streams = sorted(found.values(), key=lambda each: each.name)
    for stream in streams:
        stream.entries = _once(stream.entries)
    # Of two that begin alike, whoever ended there or went on earlier had those lines first.
    for rank, stream in enumerate(sorted(streams, key=Stream.times_us)):
        stream.rank = rank
    return streams


def _began(transcript: Transcript) -> tuple[int, str]:
    times = (entry.time_us for entry in transcript.entries if entry.time_us is not None)
    return next(times, NEVER), transcript.name


def _name(transcript: Transcript, agent: str | None, root: int | None) -> str:
    if agent is not None and agent != transcript.agent:
        return f"{transcript.name}/agent-{agent}"
    return transcript.name if root is None or agent is not None else f"{transcript.name}/sidechain-{root}"


def _inline_roots(transcript: Transcript) -> dict[int, int]:
    """Return for every line of a sub-agent inside a session's file which of them it is of, from 1."""
    side = [each for each in transcript.entries if each.sidechain and each.agent is None]
    if transcript.agent is not None or not side:
        return {}
    parents = {each.uuid: each.parent for each in side if each.uuid is not None}
    tops: dict[str, str] = {}
    numbers: dict[object, int] = {}
    found = {}
    for entry in side:
        top = id(entry) if entry.uuid is None else _top(entry.uuid, parents, tops)
        if entry.uuid is None and entry.parent in parents:
            top = _top(str(entry.parent), parents, tops)
        found[id(entry)] = numbers.setdefault(top, len(numbers) + 1)
    return found


def _top(uuid: str, parents: dict[str, str | None], tops: dict[str, str]) -> str:
    """Return the line that a chain of lines begins with; remember it for all of them."""
    path = []
    while uuid not in tops:
        path.append(uuid)
        tops[uuid] = uuid
        parent = parents[uuid]
        if parent not in parents:
            break
        uuid = parent
    top = tops[uuid]
    for each in path:
        tops[each] = top
    return top


def _once(entries: Iterable[Entry]) -> list[Entry]:
    seen: set[str] = set()
    kept = []
    for entry in entries:
        if entry.uuid is None or entry.uuid not in seen:
            kept.append(entry)
        if entry.uuid is not None:
            seen.add(entry.uuid)
    return kept
