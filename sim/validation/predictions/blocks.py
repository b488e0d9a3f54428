"""Blocks in GPU memory that carry a hash: as recorded KV events have them, and as those of a replay do.

Both are folded alike. vLLM sends an event for each copy of a block; a block is held as long as there is a
copy. Blocks of recurrent groups and of windows are left out. Blocks of prompts are known by which they are,
those that hold generated tokens only by their number.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sim.base.sums import added
from sim.kv.group_spec import full_group
from sim.measured.formats.kv_events import EventType
from sim.validation.replay.events.identity import BlockEvent, identify, prompt_blocks
from sim.validation.replay.replay import Replay, numbered


@dataclass(frozen=True, slots=True)
class HeldBlocks:
    """What one worker held, at the recorded end of each answer."""

    worker: str
    measured_at_end: int
    """After the last one."""
    predicted_at_end: int
    same_at_end: int
    """Blocks of prompts that both held."""
    prompt_blocks_at_end: int
    """Blocks of prompts that either held."""
    mean_share_same: float
    """Same ones of those that either held; mean over all answers."""
    missing_batches: int
    """Batches of events that the recorder did not get."""


@dataclass(frozen=True, slots=True)
class _Held:
    prompts: frozenset[int]
    others: int

    @property
    def count(self) -> int:
        return len(self.prompts) + self.others


def held_blocks(replayed: Replay) -> Iterator[HeldBlocks]:
    """Yield the comparison of every worker whose KV events were recorded."""
    recorded, scenario = replayed.recording, replayed.scenario
    prompts = prompt_blocks(recorded, scenario.block_tokens)
    identified = identify(recorded, prompts)
    ours = _same_names(replayed.prompts, prompts)
    samples_s = sorted(times.tokens_s[-1] for times in recorded.times.values())
    for name, worker in numbered(recorded, scenario):
        if name in identified and samples_s:
            measured = _held_at(identified[name], samples_s)
            predicted = _held_at(_published(replayed, worker, ours), samples_s)
            yield _compared(name, measured, predicted, recorded.run.kv_events[name].missing_batches)


def _same_names(ours: Iterable[Sequence[int]], theirs: Iterable[Sequence[int]]) -> dict[int, int]:
    """Return what blocks of prompts are called in the recording, by their names in the replay."""
    pairs = (zip(our, their, strict=True) for our, their in zip(ours, theirs, strict=True))
    return {block: name for prompt in pairs for block, name in prompt}


def _published(replayed: Replay, worker: int, names: Mapping[int, int]) -> Iterator[BlockEvent]:
    """Yield the events of a worker in the terms of the recording."""
    group = full_group(replayed.scenario.capacity().engine.layout.specs)
    for time_s, event in replayed.published[worker]:
        if event.group == group and event.tier == "device":
            blocks = tuple(names.get(block, -1 - block) for block in event.blocks)
            kind = EventType.STORED if event.stored else EventType.REMOVED
            yield BlockEvent(time_s, time_s, kind, blocks, None, 0)


def _held_at(events: Iterable[BlockEvent], samples_s: Sequence[float]) -> list[_Held]:
    """Return what is held at each of these times, which ascend."""
    copies: Counter[int] = Counter()
    found: list[_Held] = []
    for event in events:
        while len(found) < len(samples_s) and samples_s[len(found)] < event.time_s:
            found.append(_held(copies))
        if event.type is EventType.CLEARED:
            copies.clear()
        for block in event.blocks:
            # Blocks of before the recording are not known.
            copies[block] = max(0, copies[block] + (1 if event.type is EventType.STORED else -1))
    return found + [_held(copies)] * (len(samples_s) - len(found))


def _held(copies: Mapping[int, int]) -> _Held:
    held = [block for block, n in copies.items() if n]
    prompts = frozenset(block for block in held if block >= 0)
    return _Held(prompts, len(held) - len(prompts))


def _compared(name: str, measured: Sequence[_Held], predicted: Sequence[_Held], missing: int) -> HeldBlocks:
    shares = []
    for theirs, ours in zip(measured, predicted, strict=True):
        either = theirs.prompts | ours.prompts
        shares.append(len(theirs.prompts & ours.prompts) / len(either) if either else 1.0)
    last, our_last = measured[-1], predicted[-1]
    return HeldBlocks(
        name,
        last.count,
        our_last.count,
        len(last.prompts & our_last.prompts),
        len(last.prompts | our_last.prompts),
        added(shares) / len(shares),
        missing,
    )
