"""The small run with other KV events: made in a test, in seconds of the replay."""

from collections.abc import Sequence
from dataclasses import replace

from sim.measured.formats.kv_events import EventType, KvEvents, RecordedKvEvent
from sim.measured.run import load_run
from sim.validation.replay.recording import Recording, recording
from tests.measured.small_run import SMALL

Happened = tuple[float, str, Sequence[int], int | None]
"""Time, "stored" or "removed" or "cleared", hashes, and the hash before them."""
BLOCKS = [(0, 1), (0, 2), (0, 1, 3, 4)]
"""Full blocks of the small run's prompts. Worker 1 has the last two of them, at 0.096 s and 1.048 s."""


def small(**workers: Sequence[Happened]) -> Recording:
    """Return the small run with these events of some workers, and no others."""
    recorded = recording(load_run(SMALL))
    assert recorded.unix_s is not None
    logs = {
        name: KvEvents(tuple(_event(recorded.unix_s, *one) for one in happened), len(happened), 0)
        for name, happened in workers.items()
    }
    return replace(recorded, run=replace(recorded.run, kv_events=logs))


def _event(
    unix_s: float, time_s: float, what: str, hashes: Sequence[int], parent: int | None
) -> RecordedKvEvent:
    kind = {"stored": EventType.STORED, "removed": EventType.REMOVED, "cleared": EventType.CLEARED}[what]
    return RecordedKvEvent(kind, unix_s + time_s, None, 0, tuple(hashes), parent, 16, "GPU", None, None)
