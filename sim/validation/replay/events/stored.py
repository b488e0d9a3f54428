"""When the blocks of each request turned up in its engine's cache, as recorded KV events have it.

An engine stores a block when it plans the step that computes it, and publishes that with the step's output
(vLLM 0.28.0, synchronous scheduling; a pulled block: with the first step after the pull). So that an event
tells when a step ended, and which requests were in it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf

from sim.measured.formats.kv_events import EventType
from sim.validation.replay.events.engines import RecordedEngine, recorded_engines
from sim.validation.replay.events.identity import BlockEvent, identify, prompt_blocks
from sim.validation.replay.recording import Recording

SLACK_S = 0.05
"""The router may have seen the end of an answer a moment before the engine published its last blocks."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Blocks of one request that came into the cache together."""

    start: int
    """Places in the request, from 0; places behind its prompt hold generated tokens."""
    stop: int
    time_s: float
    """When the engine published it, in seconds of the replay."""
    order: int
    """Place among the events of the engine."""


@dataclass(frozen=True, slots=True)
class EngineLog:
    """What the events of one engine tell of time."""

    engine: RecordedEngine
    outputs_s: Sequence[float]
    """When outputs were processed that had events to publish, ascending."""
    heard_s: Sequence[float]
    """When a subscriber had those events, ascending."""
    stored: Mapping[int, Sequence[Stored]]
    """By request: what it stored, in order."""
    prompt_blocks: Mapping[int, int]
    """Full blocks of each prompt."""

    def stored_s(self, request: int, block: int) -> float | None:
        """Return when a request stored the block at a place in it; None if it did not."""
        spans = self.stored.get(request, ())
        return next((found.time_s for found in spans if found.start <= block < found.stop), None)

    def next_output_s(self, time_s: float) -> float:
        """Return when the next output after a time was processed of which there is an event."""
        place = bisect_right(self.outputs_s, time_s)
        return self.outputs_s[place] if place < len(self.outputs_s) else inf

    def heard_output_s(self, time_s: float) -> float | None:
        """Return when a subscriber had the events of the last output up to a time; None without one."""
        place = bisect_right(self.outputs_s, time_s) - 1
        return self.heard_s[place] if place >= 0 else None

    def output_before_s(self, time_s: float, *, steps: int = 1) -> float:
        """Return when the output that came `steps` before the one of a time was processed; else 0."""
        place = bisect_left(self.outputs_s, time_s) - steps
        return self.outputs_s[place] if place >= 0 else 0.0

    def first(self, request: int) -> Stored | None:
        """Return the first blocks of its prompt that a request stored; None if it found all of them."""
        return next(
            (found for found in self.stored.get(request, ()) if found.start < self.prompt_blocks[request]),
            None,
        )


def engine_logs(recorded: Recording, block_tokens: int) -> list[EngineLog]:
    """Return what is told of every engine with recorded events."""
    prompts = prompt_blocks(recorded, block_tokens)
    events = identify(recorded, prompts)
    return [
        _log(recorded, engine, prompts, events[engine.worker])
        for engine in recorded_engines(recorded)
        if engine.worker in events
    ]


def _log(
    recorded: Recording,
    engine: RecordedEngine,
    prompts: Sequence[Sequence[int]],
    events: Sequence[BlockEvent],
) -> EngineLog:
    told = _Attribution(engine, prompts)
    for order, event in enumerate(events):
        if event.type is EventType.STORED and event.blocks:
            told.add(event, order)
    outputs = [event for event in events if event.type is not EventType.CLEARED and event.time_s >= 0.0]
    heard_s = {event.time_s: event.heard_s for event in outputs}
    outputs_s = sorted(heard_s)
    later_s = [*accumulate((heard_s[time_s] for time_s in outputs_s), max)]
    lengths = {index: len(prompts[index]) for index in engine.begins_s}
    return EngineLog(engine, outputs_s, later_s, told.stored, lengths)


class _Attribution:
    """Finds the request behind each event: one that the event goes on from, else the first that came."""

    def __init__(self, engine: RecordedEngine, prompts: Sequence[Sequence[int]]) -> None:
        self.stored: dict[int, list[Stored]] = {}
        self._engine = engine
        self._prompts = prompts
        self._generated: dict[int, int] = {}
        """Requests by blocks that hold their generated tokens."""

    def add(self, event: BlockEvent, order: int) -> None:
        start = event.stop - len(event.blocks)
        candidates = list(self._candidates(event, start))
        going_on = (index for index in candidates if self._stop(index) == start)
        request = next(going_on, candidates[0] if candidates else None)
        if request is not None:
            self.stored.setdefault(request, []).append(Stored(start, event.stop, event.time_s, order))
            self._generated |= {block: request for block in event.blocks if block < 0}

    def _candidates(self, event: BlockEvent, start: int) -> Iterator[int]:
        for index, begin_s in self._engine.begins_s.items():
            end_s = self._engine.ends_s.get(index, event.time_s)
            if begin_s <= event.time_s <= end_s + SLACK_S and self._fits(index, event, start):
                yield index

    def _fits(self, index: int, event: BlockEvent, start: int) -> bool:
        prompt = self._prompts[index]
        if event.blocks[0] < 0:
            behind_prompt = start == len(prompt) and (not prompt or prompt[-1] == event.parent)
            return behind_prompt or (event.parent is not None and self._generated.get(event.parent) == index)
        known = sum(block >= 0 for block in event.blocks)
        goes_on = self._stop(index) in (None, start)
        return goes_on and tuple(prompt[start : start + known]) == event.blocks[:known]

    def _stop(self, index: int) -> int | None:
        stored = self.stored.get(index)
        return stored[-1].stop if stored else None
