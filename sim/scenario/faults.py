"""What may go wrong, and when: the entries of a scenario's `[[faults]]`.

Sources. "Request Migration", "Request Cancellation", "Graceful Shutdown" and "Router Operations" of NVIDIA
Dynamo's documentation (1.5.0); a recorded run of Dynamo 1.5.0 that lost a decode worker, for what a request
meets on its way to a worker that does not answer; vLLM 0.28.0 for failed KV transfers.
"""

from math import inf
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from sim.base.bounds import CountOrZero
from sim.base.settings import Settings
from sim.base.units import Seconds

For = Annotated[Seconds, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]


class _Moment(Settings):
    """A fault that begins at a time."""

    at_s: Seconds
    """When it begins, in seconds of simulated time."""


class _Period(_Moment):
    """A fault that lasts."""

    for_s: For
    """How long it lasts."""


class WorkerDies(_Moment):
    """The process of a worker is killed: its requests, GPU blocks and host blocks are gone.

    Dynamo 1.5.0 fails its requests, or retries them elsewhere within `frontend.migration_limit`.
    """

    kind: Literal["worker-dies"]
    """What happens."""
    worker: CountOrZero
    """Which one, from 0; of a disaggregated cluster prefill workers come first."""
    back_after_s: For | None = None
    """It comes back after so long, empty; unset: never."""
    connections: Literal["close", "hang"] = "close"
    """A process that is killed closes its connections, and its requests fail at once. A machine that is lost
    leaves them open: requests wait until the router knows."""
    detected_after_s: Seconds = 10.0
    """How long the router counts on it, and keeps its blocks in the index: the lease of Dynamo's discovery,
    10 s. A front end that could not reach it leaves it out before."""
    connect_timeout_s: Seconds = 5.0
    """With hanging connections, how long a new request waits for it before it fails."""


class WorkerDrains(_Moment):
    """A worker takes no new request, finishes those that it has, and leaves: Dynamo's graceful shutdown."""

    kind: Literal["worker-drains"]
    """What happens."""
    worker: CountOrZero
    """Which one, from 0; of a disaggregated cluster prefill workers come first."""
    grace_s: Seconds = 5.0
    """It serves for so long at least, for requests that are on their way to it: Dynamo's
    DYN_GRACEFUL_SHUTDOWN_GRACE_PERIOD_SECS."""
    timeout_s: For = 900.0
    """Requests that it still has so long after the beginning are cut off, as if it died: Dynamo's
    DYN_RUNTIME_GRACEFUL_SHUTDOWN_TIMEOUT_SECS."""
    back_after_s: For | None = None
    """It comes back so long after it has left, empty; unset: never."""


class SlowGpu(_Period):
    """The steps that a worker plans in a period take longer: a throttled or shared GPU."""

    kind: Literal["slow-gpu"]
    """What happens."""
    worker: CountOrZero | None = None
    """Which one, from 0; unset: all."""
    factor: Annotated[float, Field(gt=0, le=1e6)]
    """Step times are multiplied by this."""


class LinkOutage(_Period):
    """Nothing moves over a link for a period; what is under way goes on where it stood."""

    kind: Literal["link-outage"]
    """What happens."""
    link: Literal["pcie", "nvlink", "roce"]
    """Between a GPU and its host, between the GPUs of a node, between nodes."""
    owner: CountOrZero | None = None
    """The worker whose link it is, or for roce the node; unset: all."""


class KvEventsLost(_Period):
    """KV events of a worker do not reach the router, each output's with a chance."""

    kind: Literal["kv-events-lost"]
    """What happens."""
    worker: CountOrZero | None = None
    """Which one, from 0; unset: all."""
    share: Share = 1.0
    """Chance that the events of an output are lost."""
    recovered: bool = True
    """Dynamo's router sees the gap in their numbers at the next event that arrives, and asks the worker's
    local indexer for what it missed. False: lost for good."""


class KvEventsLate(_Period):
    """KV events of a worker take longer to the router; they stay in order."""

    kind: Literal["kv-events-late"]
    """What happens."""
    worker: CountOrZero | None = None
    """Which one, from 0; unset: all."""
    delay_s: For
    """How much longer."""


class FrontendRestarts(_Moment):
    """The front end, and the router in it, starts anew.

    Dynamo's router then knows of no booking ("active block state is deliberately ephemeral") and asks the
    workers' local indexers what they hold.
    """

    kind: Literal["frontend-restarts"]
    """What happens."""
    front_end: CountOrZero | None = None
    """Which one, from 0, of `frontend.replicas`; unset: all. Others that are there serve in its place."""
    down_s: Seconds = 0.0
    """How long it is away; requests sent meanwhile are rejected, if no other front end is there."""
    in_flight: Literal["fail", "keep"] = "fail"
    """Requests on their way fail, and workers abort them, as their connections close; "keep": another process
    holds the connections, and only the router forgets."""
    index: Literal["recovered", "lost"] = "recovered"
    """Whether the router learns again which blocks the workers hold; "lost": only of those stored later."""


class ClientsCancel(_Moment):
    """Clients give requests up a while after sending them; Dynamo and vLLM abort them."""

    kind: Literal["clients-cancel"]
    """What happens."""
    for_s: For | None = None
    """Requests sent in this period are meant; unset: all from `at_s` on."""
    after_s: Seconds
    """How long after it was sent a request is given up, if it has not ended."""
    share: Share = 1.0
    """Chance of each request."""
    sessions: tuple[str, ...] = ()
    """Only requests of these sessions; empty: of all."""


Fault = Annotated[
    WorkerDies
    | WorkerDrains
    | SlowGpu
    | LinkOutage
    | KvEventsLost
    | KvEventsLate
    | FrontendRestarts
    | ClientsCancel,
    Field(discriminator="kind"),
]


def _no_faults(value: object) -> object:
    return () if value is None else value


_WITHOUT = " (--set faults=none leaves faults out)"

Faults = Annotated[tuple[Fault, ...], BeforeValidator(_no_faults)]


def disagreement_of(
    faults: tuple[Fault, ...],
    *,
    workers: int,
    nodes: int,
    disaggregated: bool,
    offload: bool,
    front_ends: int = 1,
) -> str | None:
    """Return what is wrong with faults of a cluster, None if nothing is; names the entry, from 1.

    Args:
        faults: in the order of the scenario.
        workers, nodes: of the cluster.
        disaggregated: whether workers are joined by links.
        offload: whether workers have a CPU tier.
        front_ends: of the cluster.

    """
    for number, fault in enumerate(faults, start=1):
        place = f"entry {number}, {fault.kind}"
        worker = getattr(fault, "worker", None)
        if worker is not None and worker >= workers:
            return f"{place}: worker = {worker}, but workers go from 0 to {workers - 1}{_WITHOUT}"
        front_end = getattr(fault, "front_end", None)
        if front_end is not None and front_end >= front_ends:
            return f"{place}: front_end = {front_end}, but front ends go from 0 to {front_ends - 1}{_WITHOUT}"
        if isinstance(fault, LinkOutage):
            wrong = _wrong_link(fault, workers, nodes, disaggregated=disaggregated, offload=offload)
            if wrong is not None:
                return f"{place}: {wrong}"
    return _overlap(faults)


def _wrong_link(
    fault: LinkOutage, workers: int, nodes: int, *, disaggregated: bool, offload: bool
) -> str | None:
    if fault.link == "pcie" and not offload:
        return "nothing goes over PCIe without offload"
    if fault.link != "pcie" and not disaggregated:
        return f"aggregated workers are not joined by {fault.link}"
    if fault.link == "roce" and nodes < 2:
        return "all workers are on one node"
    owners, noun = (nodes, "nodes") if fault.link == "roce" else (workers, "workers")
    if fault.owner is not None and fault.owner >= owners:
        return f"owner = {fault.owner}, but {noun} go from 0 to {owners - 1}{_WITHOUT}"
    return None


def _overlap(faults: tuple[Fault, ...]) -> str | None:
    """Say which two faults take the same worker away, or slow it, at one time."""
    periods: list[tuple[str, float, float, int | None, int]] = []
    for number, fault in enumerate(faults, start=1):
        if isinstance(fault, WorkerDies):
            periods.append(("away", fault.at_s, _until(fault.at_s, fault.back_after_s), fault.worker, number))
        elif isinstance(fault, WorkerDrains):
            back = None if fault.back_after_s is None else fault.timeout_s + fault.back_after_s
            periods.append(("away", fault.at_s, _until(fault.at_s, back), fault.worker, number))
        elif isinstance(fault, SlowGpu | KvEventsLost | KvEventsLate):
            what = "slow" if isinstance(fault, SlowGpu) else "events"
            periods.append((what, fault.at_s, fault.at_s + fault.for_s, fault.worker, number))
        elif isinstance(fault, FrontendRestarts):
            periods.append(("front end", fault.at_s, fault.at_s + fault.down_s, fault.front_end, number))
    for place, (what, start_s, end_s, worker, number) in enumerate(periods):
        for other, other_s, other_end_s, other_worker, other_number in periods[:place]:
            same = what == other and (worker == other_worker or None in (worker, other_worker))
            if same and start_s < other_end_s and other_s < end_s:
                return f"entries {other_number} and {number} overlap; let one end before the other begins"
    return None


def _until(at_s: float, back_after_s: float | None) -> float:
    return inf if back_after_s is None else at_s + back_after_s


class FrontendLimits(Settings):
    """What a front end does for requests whose worker is lost."""

    migration_limit: CountOrZero = 0
    """How often a request is tried on another worker after its own was lost, with the tokens that it has
    generated appended to its prompt: Dynamo's --migration-limit."""
    migration_max_seq_len: CountOrZero | None = None
    """Prompt and generated tokens beyond which a request is not: Dynamo's --migration-max-seq-len."""

    @model_validator(mode="after")
    def _something_to_limit(self) -> Self:
        if self.migration_max_seq_len is not None and not self.migration_limit:
            raise ValueError("migration_max_seq_len means nothing without a migration_limit above 0")
        return self
