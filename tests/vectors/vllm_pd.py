"""A recorded pair of engines of vLLM 0.28.0, prefill and decode, against two engine cores in lock step.

Both engines make one step a tick, the prefill engine first; a request that it ends reaches the decode engine
in the same tick. From the recording come its settings, the arrivals, the steps that a copy and a pull take,
the order of the keys of a finished copy, and the order in which requests read at once were released.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from sim.engine.active import ActiveRequest
from sim.engine.engine import Engine
from sim.engine.nixl import NixlConnector
from sim.engine.plan import StepPlan
from sim.kv.key_runs import Key
from tests.engine.helpers import CopyEngine
from tests.vectors.vllm_engine import Row, cache_of, limits, offload_of, speculation_of
from tests.vectors.vllm_replay import draft_counts, drafts_of, expand, recorded_events

PREFILL, DECODE = "P", "D"


def build_engine(config: Row, name: str, accepted: list[list[int]]) -> Engine:
    """Return one of the two engines that a recording's first line describes; `accepted` drafts by request."""
    speculation = speculation_of(config, accepted)
    blocks, role = (
        (config["num_blocks"], config.get("role_p", "kv_both"))
        if name == PREFILL
        else (config["num_blocks_d"], config.get("role_d", "kv_both"))
    )
    cache = cache_of(config, blocks, speculation)
    nixl = NixlConnector(
        cache,
        producer=role != "kv_consumer",
        consumer=role != "kv_producer",
        truncation=limits(config).rule_set.truncation,
    )
    offload = offload_of(config, cache) if name == PREFILL else None
    offload_first = config.get("order", ["nixl"])[0] == "offload"
    return Engine(cache, limits(config), offload, nixl, offload_first=offload_first, speculation=speculation)


class Side:
    """One of the two engines, its copies, and what was predicted of it."""

    def __init__(
        self,
        name: str,
        config: Row,
        names: list[str],
        order: Mapping[int, list[Key]],
        accepted: list[list[int]],
    ) -> None:
        self.name = name
        self.engine = build_engine(config, name, accepted)
        self.number = 0
        """Value of the step counter: it stands still in a tick that only processes an output."""
        self.facts: dict[str, Row] = {}
        self.was_read: list[int] = []
        """Requests whose blocks the other engine has read since the last step."""
        self._names = names
        self._order = order
        self._copies = CopyEngine(config.get("store_delay", 1), config.get("load_delay", 2))
        self._pull_steps: int = config["xfer_delay"]
        self._pulls_due: dict[int, int] = {}
        self._reports: dict[int, tuple[list[int], list[int], list[int]]] = {}
        self._requests: dict[str, ActiveRequest] = {}
        self._asks: list[list[Any]] = []
        self._with_asks = "order" in config
        if self._with_asks:
            self._listen_to_lookups()

    def id_of(self, request_id: int) -> str:
        """The name that the recording gives a request on this side."""
        return ("p" if self.name == PREFILL else "") + self._names[request_id]

    def add(self, request: ActiveRequest) -> None:
        """A request arrives."""
        name = self.id_of(request.request_id)
        self.facts[name] = {}
        self._requests[name] = request
        self.engine.add(request)

    def request(self, name: str) -> Row:
        """Return what was predicted of a request up to now."""
        request = self._requests.get(name)
        if request is None:
            return {}
        unfinished = {} if "finish" in self.facts[name] else {"unfinished": 1}
        return self.facts[name] | {"preempt": request.preemptions} | unfinished

    def _order_ended(self) -> None:
        """Put requests that ended at once in the order of vLLM's set of their names (PYTHONHASHSEED=0)."""
        offload = self.engine.offload
        if offload is not None and len(offload.ended) > 1:
            walk = [*{self.id_of(request.request_id) for request, _ in offload.ended}]
            offload.ended.sort(key=lambda ended: walk.index(self.id_of(ended[0].request_id)))

    def _listen_to_lookups(self) -> None:
        """Take down each call of the connector's look-up: the local hit it is given, and what it answers."""
        lookup = self.engine.scheduler.lookup
        ask = lookup.ask

        def listening(request: ActiveRequest, local_tokens: int) -> int | None:
            external = ask(request, local_tokens)
            self._asks.append([self.id_of(request.request_id), local_tokens, external])
            return external

        lookup.ask = listening  # type: ignore[method-assign]

    def tick(self, sent_order: list[str]) -> tuple[Row | None, list[int], list[ActiveRequest]]:
        """Go through vLLM's loop once: (row, requests whose pull ended, requests that finished)."""
        engine = self.engine
        if engine.has_work:
            self.number += 1
            row, pulled = self._schedule()
            full = len(engine.steps) == engine.max_steps or not (row["sched"] or engine.has_work)
            if not full:
                return row | {"upd": None, "free2": row["free"]}, pulled, []
            more, finished = self._complete(sent_order)
            return row | more, pulled, finished
        if engine.steps:
            more, finished = self._complete(sent_order)
            return {"i": self.number, "sched": None} | more, [], finished
        self.number += 1
        return None, [], []

    def _schedule(self) -> tuple[Row, list[int]]:
        engine, number = self.engine, self.number
        self._order_ended()
        self._asks.clear()
        plan = engine.schedule()
        plan.number = number
        pulled = self._worker_phase(plan)
        for request, _ in plan.scheduled:
            self.facts[self.id_of(request.request_id)].setdefault("first_sched", number)
        groups = len(engine.cache.groups)
        row: Row = {
            "i": number,
            "sched": [[self.id_of(request.request_id), tokens] for request, tokens in plan.scheduled],
            "free": engine.cache.pool.free_blocks,
            "run": len(engine.scheduler.running),
            "wait": engine.waiting,
            "ask": [*self._asks],
            "sync": plan.loads_now,
            "flush": plan.flushes,
            "pre": sorted(self.id_of(request.request_id) for request in plan.preempted),
            "pull": [
                [self.id_of(pull.request_id), [*pull.blocks_by_group], [*pull.remote.blocks_by_group]]
                for pull in plan.pulls
            ],
        }
        row |= drafts_of(plan, self.id_of)
        for key, jobs in (("load", plan.loads), ("store", plan.stores)):
            row[key] = [
                [job.job_id, self.id_of(job.request_id), len(job.blocks), job.blocks_by_group(groups)]
                for job in jobs
            ]
        return row, pulled

    def _worker_phase(self, plan: StepPlan) -> list[int]:
        """What the step's output will report; returns the requests whose pull has ended."""
        number = plan.number
        for pull in plan.pulls:
            self._pulls_due[pull.request_id] = number + self._pull_steps
        pulled = [request_id for request_id, due in self._pulls_due.items() if due <= number]
        for request_id in pulled:
            del self._pulls_due[request_id]
        self._reports[number] = (self._copies.worker_phase(number, plan), pulled, self.was_read)
        self.was_read = []
        return pulled + plan.unneeded

    def _complete(self, sent_order: list[str]) -> tuple[Row, list[ActiveRequest]]:
        engine = self.engine
        plan = engine.steps[0]
        done, pulled, read = self._reports.pop(plan.number)
        for request in plan.emitting:
            if request.outputs == 0 and not request.stale:
                self._first_token(request)
        jobs = {job_id: engine.offload.jobs[job_id] for job_id in done} if engine.offload else {}
        keys = {job_id: sorted(job.blocks) for job_id, job in jobs.items()}
        order = [(job_id, self._handled_order(job_id, keys[job_id])) for job_id in done]
        loaded = [job.request_id for job in jobs.values() if job.load]
        counted = draft_counts(engine)
        read.sort(key=lambda request_id: _place(sent_order, self.id_of(request_id)))
        output = engine.complete(order, pulled, read)
        for request in output.finished:
            self._ended(request)
        row: Row = {
            "upd": plan.number,
            "free2": engine.cache.pool.free_blocks,
            "done": sorted(done),
            "ord": keys,
            "recvd": sorted(self.id_of(request_id) for request_id in [*pulled, *loaded]),
            "sent": [self.id_of(request_id) for request_id in read],
            "fin": [self.id_of(request.request_id) for request in output.finished],
            "ev": recorded_events(output.events),
            "cpu": engine.offload.tier.used_blocks if engine.offload is not None else 0,
            "sd": [after - before for after, before in zip(draft_counts(engine), counted, strict=True)],
        }
        return row, output.finished

    def _handled_order(self, job_id: int, keys: list[Key]) -> list[Key] | None:
        """The recorded order of a job's keys, if these are the job's keys: else they disagree anyway."""
        order = self._order.get(job_id)
        return order if order is not None and sorted(order) == keys else None

    def _first_token(self, request: ActiveRequest) -> None:
        local, external = request.local_tokens, request.external_tokens
        self.facts[self.id_of(request.request_id)].update(
            first_token=self.number,
            prompt_eff=request.prompt_tokens,
            local=local,
            ext=external,
            computed=request.prompt_tokens - local - external,
        )

    def _ended(self, request: ActiveRequest) -> None:
        facts = self.facts[self.id_of(request.request_id)]
        facts["finish"] = self.number
        if request.for_remote and self._with_asks:
            facts["hold"] = [table.held_blocks for table in request.tables]


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


class PairReplay:
    """Predicts the steps and requests of one recorded pair, in the recording's own schema."""

    def __init__(
        self, config: Row, requests: list[Row], order: Mapping[int, list[Key]], sent: list[str]
    ) -> None:
        arrivals = [row for row in requests if row["e"] == PREFILL]
        decode = {row["id"]: row for row in requests if row["e"] == DECODE}
        self._arrivals = sorted(arrivals, key=lambda row: int(row["seq"]))
        self._names = [row["id"].removeprefix("p") for row in self._arrivals]
        self._decode = decode
        self._sent = sent
        self._last_tick = config.get("stop_tick")
        accepted = [row.get("acc", []) for row in self._arrivals]
        self.prefill = Side(PREFILL, config, self._names, order, accepted)
        accepted = [decode.get(name, {}).get("acc", []) for name in self._names]
        self.decode = Side(DECODE, config, self._names, {}, accepted)

    def steps(self) -> Iterator[Row]:
        """Yield the predicted steps of both engines until every request has ended."""
        tick, arrived = 0, 0
        while self._last_tick is None or tick < self._last_tick:
            while arrived < len(self._arrivals) and self._is_due(self._arrivals[arrived], tick):
                self._arrive(arrived)
                arrived += 1
            row, _, finished = self.prefill.tick(self._sent)
            if row is not None:
                yield row | {"e": PREFILL, "tick": tick}
            for request in finished:
                self._hand_over(request)
            row, pulled, _ = self.decode.tick([])
            if row is not None:
                yield row | {"e": DECODE, "tick": tick}
            self.prefill.was_read += pulled
            idle = not any(side.engine.has_work or side.engine.steps for side in (self.prefill, self.decode))
            if idle and arrived == len(self._arrivals):
                return
            tick += 1

    def _is_due(self, row: Row, tick: int) -> bool:
        if "atick" in row:
            return bool(row["atick"] <= tick)
        engine = self.prefill.engine
        only_output = bool(engine.steps) and not engine.has_work
        return bool(row["arrive"] <= self.prefill.number) and not only_output

    def _arrive(self, index: int) -> None:
        row = self._arrivals[index]
        request = ActiveRequest(index, row["prompt"], 1, expand(row["blocks"]))
        request.for_remote = True
        self.prefill.add(request)

    def _hand_over(self, request: ActiveRequest) -> None:
        nixl = self.prefill.engine.nixl
        assert nixl is not None
        row = self._decode.get(self._names[request.request_id])
        if row is None:
            return
        decode = ActiveRequest(request.request_id, row["prompt"], row["out"], expand(row["blocks"]))
        decode.remote = nixl.offer(request)
        self.decode.add(decode)

    def request(self, name: str) -> Row:
        """Return what was predicted of a request up to now: "pX" is prefilled, "X" decoded."""
        side = self.decode if name in self._decode else self.prefill
        return side.request(name)
