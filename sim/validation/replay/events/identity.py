"""Which block of which prompt a recorded KV event is about.

vLLM knows a block by a hash of its tokens and of all before them, which no other file of a run has. But the
hashes form a tree, as the prompts do: an event names the block before its first one. A hash that was not
seen before is the next block of a prompt whose blocks so far are those before it. Of several such prompts it
is one that ends where this event ends, or where those do that go on from it: a step computes a prompt to its
end, or as far as its budget reaches and the rest in steps to come. Of several of these it is the first that
came. A block that no prompt fits holds generated tokens.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sim.kv.prefix import PrefixTable
from sim.measured.formats.kv_events import BlockHash, EventType, RecordedKvEvent
from sim.validation.replay.events.engines import recorded_engines
from sim.validation.replay.recording import Recording

LOOK_AHEAD = 8
"""Events that may go on from one another until a prompt ends."""


@dataclass(frozen=True, slots=True)
class BlockEvent:
    """What happened to blocks of the attention group in one engine's GPU memory."""

    time_s: float
    """When the engine published it, in seconds of the replay."""
    heard_s: float
    """When a subscriber had it."""
    type: EventType
    blocks: tuple[int, ...]
    """Blocks of prompts as `prompt_blocks` numbers them; others have negative numbers."""
    parent: int | None
    """Stored: the block before the first of them; None at the start of a prompt."""
    stop: int
    """Stored: how many blocks of its prompt come before the end of the last one."""


@dataclass(frozen=True, slots=True)
class _Known:
    block: int
    stop: int


def prompt_blocks(recorded: Recording, block_tokens: int) -> list[Sequence[int]]:
    """Return the full blocks of every prompt, by index: equal numbers are equal prefixes."""
    table = PrefixTable(recorded.trace.chunk_tokens, block_tokens)
    requests = recorded.trace.requests
    return [tuple(table.add(request.chunks, request.prompt_tokens).blocks) for request in requests]


def identify(recorded: Recording, prompts: Sequence[Sequence[int]]) -> dict[str, tuple[BlockEvent, ...]]:
    """Return the events of every engine whose clock and requests are known, in order."""
    logs = {engine.worker: _gpu_events(recorded, engine.worker) for engine in recorded_engines(recorded)}
    search = _Search(recorded, prompts, {name: events for name, events in logs.items() if events})
    return search.run()


def _gpu_events(recorded: Recording, worker: str) -> list[RecordedKvEvent]:
    """Return events of attention blocks in GPU memory."""
    log = recorded.run.kv_events.get(worker)
    if log is None or recorded.unix_s is None:
        return []
    # Only stored events tell what a group is.
    recurrent = {event.group for event in log.events if event.group_kind not in (None, "full_attention")}
    return [event for event in log.events if event.medium in (None, "GPU") and event.group not in recurrent]


class _Search:
    def __init__(
        self,
        recorded: Recording,
        prompts: Sequence[Sequence[int]],
        logs: Mapping[str, Sequence[RecordedKvEvent]],
    ) -> None:
        self._prompts = prompts
        self._engines = {engine.worker: engine for engine in recorded_engines(recorded)}
        self._logs = logs
        self._start_s = recorded.unix_s or 0.0
        self._known: dict[BlockHash, _Known] = {}
        self._taken: defaultdict[str, set[int]] = defaultdict(set)
        """Blocks of prompts whose hash is known."""
        self._others = count(-1, -1)
        self._next: dict[str, dict[BlockHash | None, list[int]]] = {}
        """Places of the events that follow a block, by engine."""
        for name, events in logs.items():
            following = self._next[name] = defaultdict(list)
            for place, event in enumerate(events):
                if event.type is EventType.STORED and event.block_hashes:
                    following[event.parent_hash].append(place)
        hashes = [{found for event in events for found in event.block_hashes} for events in logs.values()]
        # Engines hash alike if they were started with the same seed.
        self._alike = len(set().union(*hashes)) < sum(map(len, hashes))

    def run(self) -> dict[str, tuple[BlockEvent, ...]]:
        found: dict[str, list[BlockEvent]] = {name: [] for name in self._logs}
        order = [
            (event.engine_s, name, place)
            for name, events in self._logs.items()
            for place, event in enumerate(events)
        ]
        for _, name, place in sorted(order):
            found[name].append(self._identified(name, place))
        return {name: tuple(events) for name, events in found.items()}

    def _identified(self, name: str, place: int) -> BlockEvent:
        event = self._logs[name][place]
        time_s = event.engine_s - self._start_s
        before = self._known.get(event.parent_hash) if event.parent_hash is not None else None
        if event.type is EventType.STORED:
            self._learn(name, place, before, time_s)
        blocks = tuple(self._known_or_other(found).block for found in event.block_hashes)
        start = before.stop if before else 0
        heard_s = time_s if event.received_s is None else event.received_s - self._start_s
        return BlockEvent(
            time_s, heard_s, event.type, blocks, before.block if before else None, start + len(blocks)
        )

    def _known_or_other(self, found: BlockHash) -> _Known:
        """Return what is known of a hash; one of before the recording belongs to no prompt."""
        if found not in self._known:
            self._known[found] = _Known(next(self._others), 0)
        return self._known[found]

    def _learn(self, name: str, place: int, before: _Known | None, time_s: float) -> None:
        event = self._logs[name][place]
        taken = self._taken["" if self._alike else name]
        prompt: Sequence[int] | None = None
        stop = before.stop if before else 0
        parent = before.block if before else None
        for found in event.block_hashes:
            if found not in self._known:
                if prompt is None and (parent is None or parent >= 0):
                    prompt = self._prompt(name, place, parent, stop, time_s)
                fits = prompt is not None and stop < len(prompt)
                block = prompt[stop] if prompt is not None and fits else next(self._others)
                self._known[found] = _Known(block, stop + 1)
                prompt = prompt or ()
            taken.add(self._known[found].block)
            parent, stop = self._known[found].block, stop + 1

    def _prompt(
        self, name: str, place: int, parent: int | None, stop: int, time_s: float
    ) -> Sequence[int] | None:
        """Return the prompt that goes on behind `stop` blocks, of which `parent` is the last."""
        ends = list(self._ends(name, place))
        taken = self._taken["" if self._alike else name]
        fitting = [
            blocks
            for index, begin_s in self._engines[name].begins_s.items()
            if begin_s <= time_s
            and len(blocks := self._prompts[index]) > stop
            and (not stop or blocks[stop - 1] == parent)
            and blocks[stop] not in taken
            and len(blocks) in ends
        ]
        return min(fitting, key=lambda blocks: ends.index(len(blocks)), default=None)

    def _ends(self, name: str, place: int) -> Iterator[int]:
        """Yield where an event ends, in blocks of its prompt, and the events that go on from it."""
        events = self._logs[name]
        parent = events[place].parent_hash
        stop = self._known[parent].stop if parent in self._known else 0
        for _ in range(LOOK_AHEAD):
            stop += len(events[place].block_hashes)
            yield stop
            later = (found for found in self._next[name][events[place].block_hashes[-1]] if found > place)
            following = next(later, None)
            if following is None:
                return
            place = following
