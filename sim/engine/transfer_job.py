"""Copies that an engine wants made, and the book of those that have not ended."""

from dataclasses import dataclass

from sim.kv.key_runs import Key


@dataclass(slots=True)
class TransferJob:
    """Blocks copied for one request between GPU memory and the first tier, or between that and one below."""

    job_id: int
    request_id: int
    load: bool
    """Up, from the tier; else down."""
    blocks: dict[Key, int]
    """Key to GPU block, in planned order; the null block where none takes part."""
    parents: dict[Key, int | None]
    """What is written to a tier: the hash before each attention key, None at the start of the prompt."""
    tier: str = "host"
    """The tier whose streams carry it: of two the lower."""
    of_gpu: bool = True
    """Whether GPU memory takes part."""
    now: bool = False
    """A load that ends before the step in which it begins is computed."""
    peer: int | None = None
    """The number of the engine whose memory is read; None: one's own."""

    def blocks_by_group(self, groups: int) -> list[int]:
        """How many blocks of each cache group move."""
        counts = [0] * groups
        for _, group in self.blocks:
            counts[group] += 1
        return counts

    def writes_to(self, tier: str, *, first: bool) -> bool:
        """Whether it writes to a tier; `first`: to that everything from below goes."""
        return first and not self.of_gpu if self.load else tier == self.tier


class TransferJobs:
    """Jobs of one engine, numbered as they are planned."""

    __slots__ = ("_next_id", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[int, TransferJob] = {}
        """Planned and not yet reported complete."""
        self._next_id = 0

    def add(
        self,
        request_id: int,
        load: bool,
        blocks: dict[Key, int],
        parents: dict[Key, int | None],
        *,
        tier: str,
        of_gpu: bool,
    ) -> TransferJob:
        """Note a job that is planned now."""
        job = TransferJob(self._next_id, request_id, load, blocks, parents, tier, of_gpu)
        self._next_id += 1
        self.under_way[job.job_id] = job
        return job
