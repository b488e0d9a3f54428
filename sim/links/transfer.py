"""Links between memories: how long a copy takes and when it is done.

A link carries each direction as a stream of its own; the jobs of one stream run strictly one after another,
in the order they were submitted. Nothing here waits: a submitted job has its completion time at once.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from sim.base.settings import Settings
from sim.base.uncertainty import Range
from sim.base.units import BytesPerSecond, Seconds


class LinkSettings(Settings):
    """One link, the same in both directions.

    The defaults are PCIe 5.0 x16 between pinned host memory and one H100. Public measurements: 54 to 55 GB/s
    contiguous; vLLM's batched copies (vLLM pull request 42212) 40 to 44 GB/s in pieces of 28 KiB and 51 to 52
    in pieces of 64 KiB, which is 0.2 to 0.5 us a piece.
    """

    bandwidth_bytes_per_s: Annotated[BytesPerSecond, Range(20e9, 55e9, sigma=6e9)] = Field(default=50e9, gt=0)
    """Bytes a second in one direction, for one GPU. Range 20 (wrong NUMA node) to 55 GB/s."""
    latency_s: Seconds = 3.5e-6
    """Once for each job, before its first byte."""
    per_piece_s: Annotated[Seconds, Range(0.2e-6, 0.5e-6)] = 0.3e-6
    """For each contiguous piece: one block has a piece in every layer of its cache group."""

    def of_gpus(self, gpus: int) -> Self:
        """Return the links of several GPUs as one, over which each copies an equal part at the same time."""
        if gpus == 1:
            return self
        return self.model_copy(update={"bandwidth_bytes_per_s": gpus * self.bandwidth_bytes_per_s})


class Outage(NamedTuple):
    """A period, in seconds, in which nothing moves."""

    start_s: float
    end_s: float


class Copy(NamedTuple):
    """A job as a stream has it."""

    start_s: float
    """When its turn comes."""
    n_bytes: int
    pieces: int


class Stream:
    """One direction of one link, and what went over it."""

    __slots__ = (
        "_latency_s",
        "_outages",
        "_per_piece_s",
        "busy_s",
        "busy_until_s",
        "bytes_per_s",
        "jobs",
        "n_bytes",
        "waited_s",
    )

    def __init__(self, link: LinkSettings, outages: Sequence[Outage] = ()) -> None:
        """Build it; `outages` are in order of time and do not overlap."""
        self.bytes_per_s = link.bandwidth_bytes_per_s
        self._latency_s = link.latency_s
        self._per_piece_s = link.per_piece_s
        self._outages = outages
        self.busy_until_s = 0.0
        """When the last submitted job is done."""
        self.jobs = 0
        self.n_bytes = 0
        self.busy_s = 0.0
        """Time of all submitted jobs together."""
        self.waited_s = 0.0
        """Time that jobs waited for those before them, summed over jobs."""

    def duration_s(self, n_bytes: int, pieces: int) -> float:
        """Return how long a job of `n_bytes` in `pieces` contiguous pieces takes on an idle stream."""
        return self._latency_s + pieces * self._per_piece_s + n_bytes / self.bytes_per_s

    def submit(self, n_bytes: int, pieces: int, now_s: float) -> float:
        """Queue a job behind all earlier ones and return when it is done."""
        start_s = max(now_s, self.busy_until_s)
        took_s = self.duration_s(n_bytes, pieces)
        self.busy_until_s = self._end_s(start_s, took_s)
        self.jobs += 1
        self.n_bytes += n_bytes
        self.busy_s += took_s
        self.waited_s += start_s - now_s
        return self.busy_until_s

    def _end_s(self, start_s: float, took_s: float) -> float:
        """Return when a job that starts then is done: it stands still while the link is out."""
        end_s = start_s + took_s
        for out_s, back_s in self._outages:
            if start_s < back_s and out_s < end_s:
                end_s += back_s - max(out_s, start_s)
        return end_s

    def cut(self, copy: Copy, now_s: float) -> None:
        """A job that is not done comes to nothing: only the time counts in which it moved until now."""
        took_s = self.duration_s(copy.n_bytes, copy.pieces)
        stood_s = 0.0
        for out_s, back_s in self._outages:
            stood_s += max(0.0, min(back_s, now_s) - max(out_s, copy.start_s))
        moved_s = max(0.0, now_s - copy.start_s - stood_s)
        self.jobs -= 1
        self.n_bytes -= copy.n_bytes
        self.busy_s = max(0.0, self.busy_s - max(0.0, took_s - moved_s))
        self.busy_until_s = min(self.busy_until_s, now_s)

    def remaining_s(self, now_s: float) -> float:
        """Return how long until everything submitted is done: what a forced flush makes a step wait."""
        return max(0.0, self.busy_until_s - now_s)

    def utilisation(self, now_s: float) -> float:
        """Return the share of the time until `now_s` in which the stream was copying; 0 at the start."""
        return max(0.0, self.busy_s - self.remaining_s(now_s)) / now_s if now_s > 0 else 0.0
