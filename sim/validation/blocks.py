"""Blocks in GPU memory that carry a hash: as the recorded KV events have them, and in a replay.

vLLM sends an event for each copy of a block; a block is held as long as there is a copy. Blocks of recurrent
groups are left out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sim.measured.kv_events import EventType, KvEvent, KvEvents
from sim.validation.recording import Recording, pools
from sim.validation.replay import Replay


@dataclass(frozen=True, slots=True)
class HeldBlocks:
    """What one worker held, at the recorded end of each answer."""

    worker: str
    measured_at_end: int
    """After the last one."""
    predicted_at_end: int
    mean_difference: float
    """Mean over all of them of how far the prediction was off, without sign."""
    missing_batches: int
    """Batches of events that the recorder did not get."""


def sample_times(recorded: Recording) -> list[float]:
    """Return the ends of all answers, in seconds of the replay, ascending; none without KV events."""
    if not recorded.run.kv_events:
        return []
    return sorted(times.tokens_s[-1] for times in recorded.times.values())


def held_blocks(replayed: Replay, samples_s: Sequence[float]) -> Iterator[HeldBlocks]:
    """Yield the comparison of every worker whose KV events were recorded."""
    recorded = replayed.recording
    run, scenario = recorded.run, replayed.scenario
    unix_s = recorded.requests[0].clock.unix_s
    if not samples_s or unix_s is None:
        return
    for pool, first in zip(pools(run), (0, scenario.workers.prefill or 0), strict=True):
        for rank, worker in enumerate(pool):
            events = run.kv_events.get(worker.name)
            if events is None:
                continue
            measured = _held_at(events, [unix_s + recorded.start_s + sample_s for sample_s in samples_s])
            predicted = [held[first + rank] for held in replayed.held_blocks]
            differences = [abs(ours - theirs) for ours, theirs in zip(predicted, measured, strict=True)]
            yield HeldBlocks(
                worker.name,
                measured[-1],
                predicted[-1],
                sum(differences) / len(differences),
                events.missing_batches,
            )


def _held_at(events: KvEvents, times_s: Sequence[float]) -> list[int]:
    """Return how many blocks are held at each of these Unix times, which ascend."""
    # Only stored events tell what a group is.
    recurrent = {event.group for event in events.events if event.group_kind not in (None, "full_attention")}
    copies: Counter[int | str] = Counter()
    found, place = [], 0
    for time_s in times_s:
        while place < len(events.events) and events.events[place].engine_s <= time_s:
            event = events.events[place]
            if event.type is EventType.CLEARED:
                copies.clear()
            elif event.medium in (None, "GPU") and event.group not in recurrent:
                _count(event, copies)
            place += 1
        found.append(sum(n > 0 for n in copies.values()))
    return found


def _count(event: KvEvent, copies: Counter[int | str]) -> None:
    change = 1 if event.type is EventType.STORED else -1
    for block in event.block_hashes:
        # Blocks of before the recording are not known.
        copies[block] = max(0, copies[block] + change)
