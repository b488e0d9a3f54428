"""One recorded file of vLLM's scheduler (0.28.0, 0.33.0) against one engine core, step by step.

From the recording come its settings, the arrivals, the number of steps that each copy took, and the order in
which the keys of a finished copy were handled. Everything else is predicted.
"""

from collections.abc import Callable, Iterator
from typing import Any

from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.engine.plan import StepPlan
from sim.engine.transfer_job import TransferJob
from sim.kv.events import KvEvent
from sim.kv.key_runs import Key
from tests.engine.helpers import Driver
from tests.vectors.vllm_engine import Row, cache_of, limits, offload_of, speculation_of

_ENGINE = (
    "k groups block_size num_blocks max_num_batched_tokens max_num_seqs max_model_len async watermark "
    "long_prefill_token_threshold cpu_blocks policy offload_prompt_only store_delay load_delay "
    "block_sizes windows hash_block_size spec admission_cap "
    "retention checkpoint_blocks long_prefill_token_threshold_adaptive prefill_schedule_interval "
    "max_num_active_seqs offload_extra"
)
_PAIR = "num_blocks_d xfer_delay order role_p role_d stop_tick"
_WORKLOAD = (
    "add branch bytes_per_block cap cpu_blocks_real dup edge first gap kinds layers layers_per_group "
    "model most name out out_other plan requests resend seed sessions shared snap snaps start "
    "strip_output turns vllm"
)
"""How the requests came about that were recorded, and what they are called."""


def unknown_settings(config: Row, *, pair: bool) -> list[str]:
    """Return the recorded settings that this replay would ignore although they may have an effect."""
    known = f"{_ENGINE} {_WORKLOAD} {_PAIR if pair else ''}".split()
    return sorted(config.keys() - set(known))


def expand(runs: list[list[int]]) -> list[int]:
    """[[first, count], ...] to single ids."""
    return [first + offset for first, count in runs for offset in range(count)]


def build_engine(config: Row, accepted: list[list[int]]) -> Engine:
    """Return the engine that a recording's first line describes; `accepted` drafts by request."""
    speculation = speculation_of(config, accepted)
    cache = cache_of(config, config["num_blocks"], speculation)
    return Engine(cache, limits(config), offload_of(config, cache), speculation=speculation)


class Replay:
    """Predicts the steps and requests of one recording, in the recording's own schema."""

    def __init__(self, config: Row, requests: list[Row], order: dict[int, list[Key]]) -> None:
        self.engine = build_engine(config, [row.get("acc", []) for row in requests])
        self._driver = Driver(self.engine, config.get("store_delay", 1), config.get("load_delay", 2))
        self._arrivals = requests
        self._order = order
        self._facts: dict[str, Row] = {}

    def steps(self) -> Iterator[Row]:
        """Yield the predicted steps until every request has ended."""
        driver, arrived = self._driver, 0
        while True:
            while arrived < len(self._arrivals) and self._arrivals[arrived]["arrive"] <= driver.number:
                self._arrive(arrived)
                arrived += 1
            if self.engine.has_work:
                row, full = self._schedule()
                yield row | (self._complete() if full else {"upd": None, "free2": row["free"]})
            elif self.engine.steps:
                yield {"i": driver.number, "sched": None} | self._complete()
            elif arrived < len(self._arrivals):
                driver.number = self._arrivals[arrived]["arrive"]
            else:
                return

    def request(self, name: str) -> Row:
        """Return what was predicted of a request up to now."""
        return self._facts.get(name, {})

    def _arrive(self, index: int) -> None:
        row = self._arrivals[index]
        request = ActiveRequest(index, row["prompt"], row["out"], expand(row["blocks"]))
        self._facts[row["id"]] = {}
        self.engine.add(request)

    def _name(self, index: int) -> str:
        return str(self._arrivals[index]["id"])

    def _facts_of(self, request: ActiveRequest) -> Row:
        return self._facts[self._name(request.request_id)]

    def _order_ended(self) -> None:
        """Put requests that ended at once in the order of vLLM's set of their names (PYTHONHASHSEED=0)."""
        offload = self.engine.offload
        if offload is not None and len(offload.ended) > 1:
            walk = [*{self._name(request.request_id) for request, _ in offload.ended}]
            offload.ended.sort(key=lambda ended: walk.index(self._name(ended[0].request_id)))

    def _schedule(self) -> tuple[Row, bool]:
        """Return the planned part of a row, and whether an output is processed before the next one."""
        self._order_ended()
        engine, number = self.engine, self._driver.number + 1
        plan = self._driver.schedule()
        for request, _ in plan.scheduled:
            self._facts_of(request).setdefault("first_sched", number)
        row: Row = {
            "i": number,
            "sched": [[self._name(request.request_id), tokens] for request, tokens in plan.scheduled],
            "free": engine.cache.pool.free_blocks,
            "run": len(engine.scheduler.running),
            "wait": len(engine.scheduler.waiting) + len(engine.scheduler.skipped),
            "load": [self._job(job) for job in plan.loads],
            "sync": plan.loads_now,
            "store": [self._job(job) for job in plan.stores],
            "flush": plan.flushes,
            "pre": sorted(self._name(request.request_id) for request in plan.preempted),
            **drafts_of(plan, self._name),
        }
        return row, not self._driver.has_room(plan)

    def _job(self, job: TransferJob) -> list[Any]:
        groups = len(self.engine.cache.groups)
        return [job.job_id, self._name(job.request_id), len(job.blocks), job.blocks_by_group(groups)]

    def _complete(self) -> Row:
        engine = self.engine
        plan = engine.steps[0]
        for request in plan.emitting:
            if request.outputs == 0:
                self._first_token(request)
        done = self._driver.reported
        keys = {job_id: sorted(self._keys(job_id)) for job_id in done}
        counted = draft_counts(engine)
        output = self._driver.complete(self._handled_order)
        number = self._driver.number
        for request in output.finished:
            self._facts_of(request).update(finish=number, preempt=request.preemptions)
        return {
            "upd": plan.number,
            "free2": engine.cache.pool.free_blocks,
            "done": sorted(done),
            "ord": keys,
            "fin": [self._name(request.request_id) for request in output.finished],
            "ev": recorded_events(output.events),
            "cpu": engine.offload.tier.used_blocks if engine.offload is not None else 0,
            "sd": [after - before for after, before in zip(draft_counts(engine), counted, strict=True)],
        }

    def _keys(self, job_id: int) -> list[Key]:
        assert self.engine.offload is not None
        return list(self.engine.offload.jobs[job_id].blocks)

    def _handled_order(self, job_id: int) -> list[Key] | None:
        """The recorded order of a job's keys, if these are the job's keys: else they disagree anyway."""
        order = self._order.get(job_id)
        return order if order is not None and sorted(order) == sorted(self._keys(job_id)) else None

    def _first_token(self, request: ActiveRequest) -> None:
        local, external = request.local_tokens, request.external_tokens
        cached = min(self._cached_tokens(request), request.prompt_tokens)
        self._facts_of(request).update(
            first_token=self._driver.number,
            local=local,
            ext=external,
            computed=request.prompt_tokens - local - external,
            created=max(0, cached - local - external),
        )

    def _cached_tokens(self, request: ActiveRequest) -> int:
        """End of the deepest block with a hash that the request holds, in the group that is behind.

        The hash of a block that is not full yet ends where the prompt's last id does.
        """
        cache = self.engine.cache
        prompt = request.prompt_tokens // cache.block_tokens * cache.block_tokens
        ends: list[int] = []
        for spec, table in zip(cache.specs, request.tables, strict=False):
            parts = table.parts.values()
            full = [min(stop, extent.end) for extent, start, stop in parts if start < extent.end]
            ends.append(spec.block_tokens * max(full, default=0))
            if any(extent.tail is not None and start <= extent.end < stop for extent, start, stop in parts):
                ends[-1] = prompt
        return min(ends, default=0)


def drafts_of(plan: StepPlan, name_of: Callable[[int], str]) -> Row:
    """Return what a recorded step says of drafts."""
    drafts = plan.drafts or {}
    return {
        "spec": [
            [name_of(request.request_id), drafts[request.request_id]]
            for request, _ in plan.scheduled
            if request.request_id in drafts
        ],
        "pad": sorted(name_of(index) for index in plan.padded),
    }


def draft_counts(engine: Engine) -> list[int]:
    """Return vLLM's counters of drafts."""
    counts = engine.draft_counts
    return [counts.drafts, counts.draft_tokens, counts.accepted_tokens]


MEDIA = {"device": "GPU", "host": "CPU"}
"""vLLM's names of the tiers."""


def recorded_events(events: list[KvEvent]) -> list[list[Any]]:
    """Events as the recordings write them: CPU stores left out, neighbouring removals of a group joined."""
    rows: list[list[Any]] = []
    for event in events:
        if event.stored:
            if event.tier == "device":
                rows.append(["S", event.group, event.parent, [*event.blocks], "GPU"])
        elif rows and rows[-1][0] == "R" and rows[-1][1] == event.group and rows[-1][-1] == MEDIA[event.tier]:
            rows[-1][2] = rows[-1][2] + [*event.blocks]
        else:
            rows.append(["R", event.group, [*event.blocks], MEDIA[event.tier]])
    return rows
